#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The kernel gives the same answer for each address of a span (lib/net/span.c): the test draws addresses over random
# tables and rules (by source, destination, TOS, mark, device, user, ports, with suppressed prefixes and jumps), VRFs,
# blackholes, several next hops, and rp_filter.
. "$(dirname "$0")/lib.sh"
need "$BIN/route_spans" ip python3
net_up
MODE=kernel
tables() { # seed: lines for `ip -batch`
	python3 - "$1" "$DEV_B" "$A4" "$A6" "$B4" "$B6" <<'PY'
import random, sys

seed, dev, a4, a6, b4, b6 = sys.argv[1:]
r = random.Random(int(seed))


def low(count):  # as the program makes addresses: often near 0 and the highest
    return int.from_bytes(bytes(r.choice([0, 0, 1, 2, 63, 64, 127, 128, 254, 255, 255]) for _ in range(count)), "big")


def prefix(v6):
    if v6:
        bits = r.choice([32, 32, 33, 36, 40, 48, 63, 64, 65, 100, 128])
        n = (0xFD0B << 112 | r.randrange(4) << 96 | low(12)) >> (128 - bits) << (128 - bits)
        return ":".join(f"{n >> 16 * i & 0xFFFF:x}" for i in range(7, -1, -1)) + f"/{bits}"
    bits = r.choice([15, 16, 19, 21, 17, 18, 20, 24, 25, 30, 31, 32])
    n = (11 << 24 | r.randrange(4) << 16 | low(2)) >> (32 - bits) << (32 - bits)
    return ".".join(str(n >> 8 * i & 255) for i in (3, 2, 1, 0)) + f"/{bits}"


for table in range(100, 106):  # (so that a rule that is missed makes another answer)
    for v6 in 0, 1:
        print(f"{'-6' if v6 else '-4'} route replace default via {a6 if v6 else a4} dev {dev} mtu {1280 + table} table {table}")
for i in range(60):
    v6 = r.randrange(2)
    via, own = (a6, b6) if v6 else (a4, b4)
    what = prefix(v6) if r.randrange(40) else "default"
    kind = "via" if what == "default" else r.choice(["via"] * 9 + ["dev"] * 4 + ["many", "blackhole", "unreachable", "prohibit", "throw", "local"])
    tail = r.choice(["", "", f"mtu {r.randrange(1280, 1500)}", f"mtu {r.randrange(1280, 1500)}", "hoplimit 9 initcwnd 4", "advmss 1000", f"src {own}"])
    if kind == "via":
        rest = f"via {via} dev {dev} {tail}"
    elif kind == "dev":
        rest = f"dev {dev} {tail}"
    elif kind == "many":
        rest = f"nexthop via {via} dev {dev} weight 1 nexthop dev {dev} weight 2"
    else:
        rest = "dev lo" if kind == "local" else ""
    head = kind if kind not in ("via", "dev", "many") else ""
    table = r.choice(["main"] * 3 + [*range(100, 106)])
    tos = f"tos {r.randrange(8) * 4:#x}" if not v6 and r.randrange(6) == 0 else ""
    print(f"{'-6' if v6 else '-4'} route append {head} {what} {tos} table {table} metric {r.randrange(1, 50)} {rest}")
for i in range(40):
    v6 = r.randrange(2)
    words = f"{r.choice(['to', 'from'])} {prefix(v6)} "  # (each is narrow, so that others are reached, too)
    words += r.choice(["", "", "", f"from {b6 if v6 else b4}", f"fwmark {r.randrange(4)}", f"tos {r.randrange(1, 8) * 4:#x}",
                       f"iif {dev}", f"oif {dev}", "uidrange 0-0", "uidrange 7-9", "ipproto tcp dport 1000-1003", "sport 80"])
    if i % 20 == 0:
        words = f"not fwmark {r.randrange(1, 4)}"
    act = r.choice([f"lookup {r.randrange(100, 106)}"] * 8 + ["blackhole", "unreachable", "prohibit", "goto 32766",
                   f"lookup {r.randrange(100, 106)} suppress_prefixlength {r.choice([0, 8, 16])}"])
    print(f"{'-6' if v6 else '-4'} rule add {words} pref {1000 + r.randrange(1000)} {act}")
PY
}
spans=0
for seed in 1 2 3 4 5 6; do
	b sysctl -qw net.ipv4.conf.all.rp_filter=$((seed % 3)) net.ipv4.conf.all.accept_local=$((seed / 4))
	[ $seed = 5 ] && b ip link add vrf0 type vrf table 103 2>/dev/null && b ip link set vrf0 up
	tables $seed >"$TMP/tables"
	for family in -4 -6; do
		b ip $family rule | sed -n 's/^\(1...\):.*/rule del pref \1/p' >"$TMP/batch"
		b ip $family -force -batch "$TMP/batch" >/dev/null 2>&1
	done
	for family in -4 -6; do
		sed -n "s/^$family //p" "$TMP/tables" >"$TMP/batch"
		b ip $family -force -batch "$TMP/batch" >/dev/null 2>&1
	done
	b ip route add default via "$A4" metric 900 2>/dev/null
	[ $seed = 4 ] && b ip rule add pref 5000 lookup local && b ip rule del pref 0 # (rules by source before it)
	rules=$({ b ip rule; b ip -6 rule; } | wc -l) routes=$(b ip route show table all | wc -l)
	out=$(b timeout 60 "$BIN/route_spans" "$B4" "$B6" "$DEV_B" 4000 $seed 2>&1)
	ok "tables $seed: no answer differs within a span ($routes routes, $rules rules): ${out##*$'\n'}" \
		grep -q '^asked.* differ 0$' <<<"$out"
	grep -v ^budget <<<"$out" | head -n -1
	ok "tables $seed: the budget holds" grep -q '^budget holds' <<<"$out"
	spans=$((spans + $(sed -n 's/.* spans \([0-9]*\) .*/\1/p' <<<"$out")))
	ok "tables $seed: spans were used" test "$(sed -n 's/.* used \([0-9]*\) .*/\1/p' <<<"$out")" -ge 400
done
ok "there were many spans: $spans" test $spans -ge 300
done_testing
