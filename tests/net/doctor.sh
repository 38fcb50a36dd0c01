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

daemon_up b "allow user 65534"
plain_user >"$TMP/said"
ok "the daemon lends" says "ok    sluiced at .* lends to this user"
ok "and capabilities are not needed" not says "MEND  missing" >/dev/null
ok "XDP on a veth has its price" says "sluiced uses XDP on a veth"
doctor_as 4711 >"$TMP/said"
ok "another user is not in the policy" says "MEND  sluiced at .* does not lend to this user: "
same "no lease is left" 0 "$(b "$BUILD/sluice" daemon leases --socket "$TMP/sluiced.b" | grep -c 65534)"
plain_user --json >"$TMP/json"
plain_user >"$TMP/said"
same "JSON has each line" "$(grep -cE '^  (ok|MEND|note)  ' "$TMP/said")" \
	"$(python3 -c 'import json, sys; print(len(json.load(sys.stdin)["lines"]))' <"$TMP/json")"
same "and the findings" "$(grep -c MEND "$TMP/said")" \
	"$(python3 -c 'import json, sys; print(json.load(sys.stdin)["findings"])' <"$TMP/json")"
done_testing
