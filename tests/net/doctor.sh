#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# sluice doctor knows of the daemon (there, not there, against this user), of few descriptors, and of an XDP program on
# a veth; its JSON says the same as its text.
. "$(dirname "$0")/lib.sh"
need python3 setpriv
doctor() { b env SLUICE_DAEMON="$TMP/sluiced.b" "$BUILD/sluice" doctor "$@" "$DEV_B" 2>&1; }
plain_user() { doctor_as 65534 "$@"; }
doctor_as() { # user, arguments
	b env SLUICE_DAEMON="$TMP/sluiced.b" setpriv --reuid="$1" --regid="$1" --clear-groups "$BUILD/sluice" doctor "${@:2}" "$DEV_B" 2>&1
}
says() { grep -q -e "$1" "$TMP/said" || { cat "$TMP/said"; false; }; }

net_up
chmod 777 "$TMP"
plain_user >"$TMP/said"
ok "there is no daemon" says "MEND  no sluiced at "
ok "so a user needs capabilities" says "MEND  missing: CAP_NET_ADMIN"
(ulimit -n 200 && doctor) >"$TMP/said"
ok "few descriptors" says "MEND  200 descriptors"
(ulimit -n 1024 && doctor) >"$TMP/said"
ok "enough descriptors" says "ok    1024 descriptors"

# Mistakes of newcomers ----------------------------------------------------------------------
wrong() { # variables, --, arguments
	local vars=()
	while [ "$1" != -- ]; do vars+=("$1") && shift; done
	b env SLUICE_DAEMON="$TMP/sluiced.b" "${vars[@]}" "$BUILD/sluice" doctor "${@:2}" >"$TMP/said" 2>"$TMP/err"
	[ ! -s "$TMP/err" ] || fail "nothing is said beside the report"
}
wrong SLUICE_RX_POL=5 VMA_SELECT_POLL=much SLUICE_DEVICES="nothere,$DEV_B" -- "$DEV_B" nodev
ok "a name that is no setting" says "MEND  SLUICE_RX_POL is no setting; the nearest is SLUICE_RX_POLL"
ok "a wrong value" says "MEND  VMA_SELECT_POLL='much': expected a whole number"
ok "SLUICE_DEVICES names no device" says "MEND  SLUICE_DEVICES names nothere: there is no such device"
ok "nor does the command line" says "MEND  there is no device nodev here"
ok "the other one is looked at" says "$DEV_B (veth)"
wrong SLUICE_RX_POLL=$'x"\\\n\xff\xe9' -- --json "$DEV_B"
ok "whatever bytes there are, JSON is JSON" python3 -c 'import json, sys
assert any("RX_POLL" in l["text"] for l in json.load(open(sys.argv[1], encoding="utf-8"))["lines"])' "$TMP/said"
printf 'use vma tcp_servr *:1\nuse os udp_connect *:53\n' >"$TMP/conf"
wrong SLUICE_CONFIG_FILE="$TMP/conf" LD_PRELOAD="$BUILD/libsluice.so" -- "$DEV_B"
ok "a wrong rule" says "MEND  $TMP/conf:1:9: expected a role"
ok "the right one is counted" says "ok    1 rules in $TMP/conf"
ok "the wrong library" says "MEND  LD_PRELOAD has $BUILD/libsluice.so, which takes no calls over"
wrong SLUICE_CONFIG_FILE="$TMP/none" -- "$DEV_B"
ok "no file of rules" says "MEND  $TMP/none: No such file or directory; no rules"
b env LD_PRELOAD="$TMP/libsluice-preload.so" "$BUILD/sluice" doctor "$DEV_B" >"$TMP/said" 2>/dev/null
ok "no library at that path" says "MEND  LD_PRELOAD has $TMP/libsluice-preload.so: No such file"
b sysctl -qw "net.ipv4.conf.$DEV_B.force_igmp_version=2"
b tc qdisc replace dev "$DEV_B" root pfifo limit 99 2>/dev/null && shaped=1 || shaped=
wrong -- "$DEV_B"
ok "an old version of IGMP" says "note  held to IGMPv2: .*net.ipv4.conf.$DEV_B.force_igmp_version=0"
[ -z "$shaped" ] || ok "a queueing discipline that is passed by" says "note  offloaded packets pass its queueing discipline by (pfifo)"
b sysctl -qw "net.ipv4.conf.$DEV_B.force_igmp_version=0"
b tc qdisc del dev "$DEV_B" root 2>/dev/null
wrong SLUICE_RX_POLL=1 -- "$DEV_B"
ok "neither otherwise" eval 'not says "IGMP" >/dev/null && not says "queueing" >/dev/null'
echo 'int main(void) { return 0; }' >"$TMP/p.c"
kind() { # words, program
	wrong -- --program "$2" "$DEV_B"
	ok "a program: $1" says "$1"
}
gcc -static -o "$TMP/static" "$TMP/p.c" 2>/dev/null && kind "MEND  $TMP/static is statically linked" "$TMP/static"
gcc -o "$TMP/suid" "$TMP/p.c" && chown 4711 "$TMP/suid" && chmod 4755 "$TMP/suid" && kind "MEND  $TMP/suid is setuid" "$TMP/suid"
cp "$TMP/suid" "$TMP/foreign" && printf '\1' | dd of="$TMP/foreign" bs=1 seek=4 conv=notrunc 2>/dev/null # ELFCLASS32
kind "MEND  $TMP/foreign is for another machine or word size" "$TMP/foreign"
kind "MEND  program $TMP/none: No such file" "$TMP/none"
kind "ok    program $(command -v bash) can be preloaded" bash

daemon_up b "allow user 65534"
plain_user >"$TMP/said"
ok "the daemon lends" says "ok    sluiced at .* lends to this user"
ok "and capabilities are not needed" not says "MEND  missing" >/dev/null
ok "XDP on a veth has its price" says "sluiced uses XDP on a veth"
doctor_as 4711 >"$TMP/said"
ok "another user is not in the policy" says "MEND  sluiced at .* does not lend to this user: "
bg b setpriv --reuid=65534 --regid=65534 --clear-groups env SLUICE_DAEMON="$TMP/sluiced.b" LD_PRELOAD="$PRELOAD" \
	python3 -c 'import signal, socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("'"$B4"'", 5555)); print(1, flush=True); signal.pause()' >"$TMP/out"
wait_line "$TMP/out" 1
doctor >"$TMP/said"
ok "who has the device is the daemon" says "note  sluiced, process [0-9]*, lends it"
stop "$BG"
same "no lease is left" 0 "$(b "$BUILD/sluice" daemon leases --socket "$TMP/sluiced.b" | grep -c 65534)"
plain_user --json >"$TMP/json"
plain_user >"$TMP/said"
same "JSON has each line" "$(grep -cE '^  (ok|MEND|note)  ' "$TMP/said")" \
	"$(python3 -c 'import json, sys; print(len(json.load(sys.stdin)["lines"]))' <"$TMP/json")"
same "and the findings" "$(grep -c MEND "$TMP/said")" \
	"$(python3 -c 'import json, sys; print(json.load(sys.stdin)["findings"])' <"$TMP/json")"
done_testing
