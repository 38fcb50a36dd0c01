#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A daemon makes the private pair for its next member ahead. When that member comes, the daemon's thread attaches no
# program to a device and makes no packet ring: each of these waits for a grace period of the kernel, and all other clients
# wait with it. The pair
# is used: there is one more than lanes, and none when the last member has gone. If somebody removes its device, the
# next member gets another one.
. "$(dirname "$0")/lib_lease.sh"
[ "${RX:-packet}" = packet ] && [ -z "${VERBS:-}" ] || skip "packet sockets have private pairs"
need socat strace
lease_up
WAITS='BPF_PROG_ATTACH, .target_fd=[1-9]|PACKET_RX_RING' # (of a device; device 0 is a question to the kernel)
pairs() { b ip -o link | grep -c ': sluice[0-9]'; }
pairs_are() { [ "$(pairs)" = "$1" ]; }

bg sb "$BIN/echo" "$B4" 7001
wait_udp b 7001
ok "a pair is ready for the next member" wait_until 10 pairs_are 2
nap 300 # (its ring comes behind it)
strace -qq -p "$(daemon_pid)" -o "$TMP/trace" -e trace=bpf,setsockopt,sendmsg &
TRACER=$!
wait_until 10 grep -q "^TracerPid:.*[1-9]" "/proc/$(daemon_pid)/status"
MEMBERS=("$BG")
bg sb "$BIN/echo" "$B4" 7002
MEMBERS+=("$BG")
wait_until 10 has_claim 7002
kill "$TRACER"
wait "$TRACER" 2>/dev/null
ok "the daemon's thread lends it a lane" grep -q SCM_RIGHTS "$TMP/trace"
same "programs of private devices and packet rings by that thread" 0 "$(grep -cE "$WAITS" "$TMP/trace")"
ok "another pair is ready" wait_until 10 pairs_are 3
nap 300
b ip link del "$(b ip -o link | sed -n 's/.* \(sluice[0-9]*\)@.*/\1/p' | tail -n 1)"
bg sb "$BIN/echo" "$B4" 7003
wait_until 10 has_claim 7003
ok "without that one a member gets a pair, too" wait_until 10 pairs_are 4
same "it answers" "x" "$(printf x | a timeout 3 socat -t 1 - "UDP4:$B4:7003")"
for p in "${MEMBERS[@]}" "$BG"; do stop "$p"; done
ok "none is left when the last member has gone" wait_until 10 pairs_are 0
done_testing
