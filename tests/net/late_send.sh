#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The first datagram of a socket waits for no device if none of ours takes it: to this host, without a route, or too
# long. (The fastest of five programs each; one that sends to another host waits for its device, which is the measure.)
. "$(dirname "$0")/lib.sh"
[ -z "${VERBS:-}" ] || skip "the measure is a device that is opened by the call"
net_up
need python3
MODE=one
first() { # address [bytes]: microseconds of the fastest first send
	local i us
	for i in 1 2 3 4 5; do
		us=$(sb python3 -ES -c 'import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
t = time.monotonic()
try:
    s.sendto(bytes(int(sys.argv[2])), (sys.argv[1], 9))
except OSError:
    pass
print(int((time.monotonic() - t) * 1e6))' "$1" "${2:-1}")
		echo "$us"
	done | sort -n | head -n 1
}
other=$(first "$A4")
for to in 127.0.0.1 "$B4" 203.0.113.9 239.1.1.1 "$A4 70000"; do
	us=$(first $to)
	ok "to $to: $us us, to another host $other" test $((us * 4)) -lt "$other"
done
done_testing
