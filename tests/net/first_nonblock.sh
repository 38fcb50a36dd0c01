#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The first calls of a program that must not wait make no BPF map and load no program: the keeper opens the device
# meanwhile. The connection is offloaded from its SYN on, as after a call that waits; the kernel sends datagrams until
# the device is open, and then the socket is offloaded, too. A connection to a dead port is refused, and a program that
# ends at once ends well. A blocking connect(2) that opens the device keeps to its signals.
. "$(dirname "$0")/lib_tcp.sh"
unset SLUICE_START
net_up
need strace python3
need_built
unsanitized "a sanitizer's run time makes calls of its own"
MODE=one
SL_ENV=("SLUICE_STATS_SHMEM_DIR=$TMP/shm")
mkdir -m 1777 "$TMP/shm"
bg a python3 "$TESTS/net/echo_both.py" "$A4" 7000
wait_tcp a 7000
wait_udp a 7000
meet
# The calls of bpf(2), between the marks, of the thread that is the program's.
slow_calls() { sed -n '/"calls/,/"calls/p' "$TMP/trace" | grep -cE 'BPF_(MAP_CREATE|PROG_LOAD|LINK_CREATE|BTF_LOAD)'; }
has_lines() { [ "$(wc -l <"$1")" = "$2" ]; }
datagrams_are_ours() { "$BUILD/sluice" stat -k "$TMP/shm" --json -n first_nonblock 2>/dev/null |
	grep -q '"proto":"udp","offloaded":true'; }
for how in nonblock block; do
	before=$(b nstat -asz TcpActiveOpens | awk '/^Tcp/ { print $2 }')
	bg sb strace -qq -s 8 -e trace=bpf,write -o "$TMP/trace" "$BIN/first_nonblock" $how "$A4" 7000 "$TMP/end.$how" >"$TMP/out" 2>/dev/null
	wait_until 30 has_lines "$TMP/out" 3
	same "$how: what it gets" "stream hello datagram one datagram two" "$(tr '\n' ' ' <"$TMP/out" | sed 's/ $//')"
	same "$how: connections that are the kernel's" 0 "$(b ss -Htn state established "( dport = :7000 )" | wc -l)"
	same "$how: connections that the kernel has opened" 0 \
		$(($(b nstat -asz TcpActiveOpens | awk '/^Tcp/ { print $2 }') - before))
	same "$how: marks" 2 "$(grep -c '"calls' "$TMP/trace")"
	n=$(slow_calls)
	if [ $how = nonblock ]; then same "$how: slow calls" 0 "$n"; else ok "$how: $n slow calls" test "$n" -gt 5; fi
	ok "$how: the datagrams' socket is offloaded" wait_until 10 datagrams_are_ours
	touch "$TMP/end.$how"
	wait_end "$BG" 20 || fail "$how: it does not end"
done
for i in 1 2 3; do
	same "refused" "connect: Connection refused" "$(sb "$BIN/first_nonblock" nonblock "$A4" 7999 "$TMP" 2>&1 | sed -n 's/^first_nonblock: //p')"
	sb timeout 20 python3 -c '
import socket, sys
s = socket.socket()
s.setblocking(False)
assert s.connect_ex((sys.argv[1], 7000)) == 115' "$A4" >/dev/null 2>&1
	same "ends at once" 0 $?
done
# A signal in the midst of the opening interrupts connect(2), and its time-out counts from the call.
interrupted() {
	"$1" timeout 20 python3 -c '
import ctypes, signal, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 3, 0))
signal.signal(signal.SIGALRM, lambda *a: None)
to = struct.pack("!HH4s8x", 0, 9, socket.inet_aton(sys.argv[1]))
to = struct.pack("H", socket.AF_INET) + to[2:]
signal.setitimer(signal.ITIMER_REAL, 0.004)
r = libc.connect(s.fileno(), to, 16)
print(r, ctypes.get_errno())' "${A4%.*}.77"
}
same "a signal while the device is opened" "$(interrupted b)" "$(interrupted sb)"
done_testing
