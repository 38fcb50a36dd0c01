#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# 100,000 forged SYNs to a listener that is shared: the notes of who got a SYN stay in the memory that they had before, the
# server's memory does not grow, honest clients are served, and the notes make connecting no slower than it is beside the
# same flood to a listener that is not shared. A flood makes connecting slower than none, as it does by the
# kernel, which has the same bursts to answer first: with an honest connection they do not take much longer here.
. "$(dirname "$0")/lib_tcp.sh"
need python3 bpftool
need_built
net_up
MODE=one
meet
b ip route add 11.0.0.0/8 via "$A4" # (else the sources would be refused as martians)
a ip route add blackhole 11.0.0.0/8
bg pb python3 "$TESTS/net/syn_shared.py" server "$B4" 7800
server=$BG
wait_tcp b 7800
picked() { # the map's size, and how many bytes the kernel has for it
	bpftool -j map show pinned "/sys/fs/bpf/sluice/$DEV_B/${1:-picked_flows}" |
		python3 -c 'import json, sys; m = json.load(sys.stdin); print(m["max_entries"], m["bytes_memlock"])'
}
memory() { awk '/^RssAnon/ { print $2 }' "/proc/$server/status"; }
ok "the device is steered" wait_until 10 picked
flows=$(picked flows)
was=$(picked) before=$(memory)
same "a quarter of the flows has notes" $((${flows% *} / 4)) "${was% *}"
mac=$(ip -n "${NS}b" -j link show "$DEV_B" | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["address"])')
a timeout 150 python3 "$TESTS/net/syn_shared.py" client "$B4" 7800 "$DEV_A" "$mac" >"$TMP/client" 2>&1
same "the client came to its end" 0 $?
cat "$TMP/client"
number() { awk -v w="$1" '$1 == w { print $2 }' "$TMP/client"; }
noted=$(bpftool -j map dump pinned "/sys/fs/bpf/sluice/$DEV_B/picked_flows" | grep -o '"local_port":7800' | wc -l)
ok "the forged SYNs were noted: $noted of ${was% *} places" test "$noted" -ge 1000
for name in unshared shared; do
	same "$name: a connection from before is there" yes "$(number $name.long)"
	same "$name: each honest connection was served" 500 "$(number $name.served)"
	ok "$name: hardly a SYN of the client's was lost" test "$(number $name.late)" -le 10
done
ok "the notes do not make connecting ten times slower" test "$(number shared.beside)" -le $((10 * $(number unshared.beside)))
bg b python3 "$TESTS/net/syn_shared.py" server "$B4" 7810
wait_tcp b 7810
for turn in 1 2 3; do # (in turns with the same number here, since other programs may load the machine)
	for port in 7800 7810; do
		a timeout 60 python3 "$TESTS/net/syn_shared.py" client "$B4" $port "$DEV_A" "$mac" 10000 2>&1 |
			awk -v p=$port -v t=$turn '/^unshared.all/ { print p, $2, t }' >>"$TMP/turns"
	done
done
cat "$TMP/turns"
least() { awk -v p="$1" '$1 == p && (!m || $2 < m) { m = $2 } END { print m }' "$TMP/turns"; }
ok "a burst and an honest connection take not five times as long as by the kernel" test "$(least 7800)" -le $((5 * $(least 7810)))
if [ -x /usr/bin/strace ]; then # questions about routes: not one for each SYN, since all sources are behind one gateway
	for filter in 0 1; do
		b sysctl -qw net.ipv4.conf.all.rp_filter=$filter
		/usr/bin/strace -f -qq -e trace=sendto -o "$TMP/asks" -p "$server" &
		tracer=$!
		wait_until 10 grep -q TracerPid:.[1-9] "/proc/$server/status"
		a timeout 60 python3 "$TESTS/net/syn_shared.py" client "$B4" 7800 "$DEV_A" "$mac" 5000 >/dev/null 2>&1
		kill $tracer
		wait $tracer
		asks=$(grep -c 'AF_NETLINK' "$TMP/asks")
		ok "rp_filter $filter: $asks questions for 10,000 forged SYNs" test "$asks" -le 3000
	done
fi
same "the notes have the memory that they had" "$was" "$(picked)"
ok "the server's memory: $before, $(memory) KB" test $(($(memory) - before)) -le 8192
done_testing
