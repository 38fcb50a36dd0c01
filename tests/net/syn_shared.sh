#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# 100,000 forged SYNs to a listener that is shared: the notes of who got a SYN stay in the memory that they had before, the
# server's memory does not grow, honest clients are served, and the notes make connecting no slower than it is beside the
# same flood to a listener that is not shared. (A flood does make both slower than none; that is not asserted.)
. "$(dirname "$0")/lib_tcp.sh"
need python3 bpftool
[ -e "$PRELOAD" ] || skip "the library is not built"
net_up
MODE=one
meet
b ip route add 11.0.0.0/8 via "$A4" # (else the sources would be refused as martians)
a ip route add blackhole 11.0.0.0/8
bg pb python3 "$TESTS/net/syn_shared.py" server "$B4" 7800
wait_tcp b 7800
picked() { # the map's size, and how many bytes the kernel has for it
	bpftool -j map show pinned "/sys/fs/bpf/sluice/$DEV_B/picked" |
		python3 -c 'import json, sys; m = json.load(sys.stdin); print(m["max_entries"], m["bytes_memlock"])'
}
memory() { awk '/^RssAnon/ { print $2 }' "/proc/$BG/status"; }
ok "the device is steered" wait_until 10 picked
was=$(picked) before=$(memory)
mac=$(ip -n "${NS}b" -j link show "$DEV_B" | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["address"])')
a timeout 150 python3 "$TESTS/net/syn_shared.py" client "$B4" 7800 "$DEV_A" "$mac" >"$TMP/client" 2>&1
same "the client came to its end" 0 $?
cat "$TMP/client"
number() { awk -v w="$1" '$1 == w { print $2 }' "$TMP/client"; }
noted=$(bpftool -j map dump pinned "/sys/fs/bpf/sluice/$DEV_B/picked" | grep -o '"local_port":7800' | wc -l)
ok "the forged SYNs were noted: $noted of ${was% *} places" test "$noted" -ge 1000
for name in unshared shared; do
	same "$name: a connection from before is there" yes "$(number $name.long)"
	same "$name: each honest connection was served" 500 "$(number $name.served)"
	ok "$name: hardly a SYN of the client's was lost" test "$(number $name.late)" -le 10
done
ok "the notes do not make connecting ten times slower" test "$(number shared.beside)" -le $((10 * $(number unshared.beside)))
same "the notes have the memory that they had" "$was" "$(picked)"
ok "the server's memory: $before, $(memory) KB" test $(($(memory) - before)) -le 8192
done_testing
