#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# bird: BGP, RIP, RIPng, Babel and BFD with a neighbour: multicast of both families by device, TTL 255, SO_DONTROUTE.
. "$(dirname "$0")/lib.sh"
need bird birdc
net_up
static() { # family, table, prefix, length
	local i
	echo "protocol static { ipv$1 { table $2; };"
	for i in $(seq 100); do echo "route $3$i/$4 blackhole;"; done
	echo "}"
}
conf() { # own address, AS, address of the neighbour, its AS, device, number of the networks
	cat <<-END
		router id $1;
		log stderr { error, fatal, bug };
		ipv4 table r4; ipv6 table r6; ipv4 table b4; ipv6 table b6; ipv4 table g4;
		protocol device { }
		protocol direct { ipv4; ipv6; }
		protocol rip p4 { ipv4 { table r4; import all; export all; }; interface "$5" { mode multicast; update time 3; ttl security on; }; }
		protocol rip ng p6 { ipv6 { table r6; import all; export all; }; interface "$5" { update time 3; }; }
		protocol babel { ipv4 { table b4; import all; export all; }; ipv6 { table b6; import all; export all; };
			interface "$5" { type wired; hello interval 1 s; update interval 3 s; }; }
		protocol bfd { interface "$5" { interval 100 ms; multiplier 20; }; neighbor $3; }
		protocol bgp { local $1 as $2; neighbor $3 as $4; connect retry time 1; connect delay time 1; error wait time 1, 2;
			ipv4 { table g4; import all; export all; }; }
	END
	static 4 r4 "10.$6.0." 32
	static 6 r6 "fd77:$6::" 128
	static 4 b4 "10.$6.1." 32
	static 6 b6 "fd78:$6::" 128
	static 4 g4 "10.$6.2." 32
}
conf "$B4" 65001 "$A4" 65002 "$DEV_B" 100 >"$TMP/b.conf"
conf "$A4" 65002 "$B4" 65001 "$DEV_A" 101 >"$TMP/a.conf"
server() { bg pb bird -f -c "$TMP/b.conf" -s "$TMP/b.ctl"; }
talk() {
	counts() { # control socket: the number of routes in each table
		local t
		for t in r4 r6 b4 b6 g4; do birdc -s "$1" "show route table $t count" | grep -o '^[0-9]* of'; done 2>/dev/null | tr -d '\n'
	}
	all="200 of200 of200 of200 of200 of"
	bird -f -c "$TMP/a.conf" -s "$TMP/a.ctl" 2>/dev/null &
	for _ in $(seq 150); do
		[ "$(counts "$TMP/a.ctl")$(counts "$TMP/b.ctl")" != "$all$all" ] || break
		sleep 0.1
	done
	for side in a b; do
		counts "$TMP/$side.ctl"
		echo
		for t in r4 r6 b4 b6 g4; do birdc -s "$TMP/$side.ctl" "show route table $t" | grep -o '^[0-9a-f][^ ]*/[0-9]*' | sort | md5sum; done
	done
	up() { birdc -s "$TMP/b.ctl" show bfd sessions | grep -c "Up"; }
	for _ in $(seq 50); do [ "$(up)" != 1 ] || break; sleep 0.1; done
	echo "BFD sessions up: $(up)"
	kill -9 $!
	for _ in $(seq 80); do [ "$(up)" != 0 ] || break; sleep 0.1; done
	echo "after the neighbour's end: $(up)"
}
after() {
	local all="200 of200 of200 of200 of200 of"
	[ "$MODE" != kernel ] || ok "both sides learn all routes, and the neighbour's end" \
		grep -q "$all .*$all .*up: 1 .*end: 0" <<<"$(tr '\n' ' ' <<<"${ORACLE[bird]}")"
}
zoo bird 179
done_testing
