#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Rules: by the configuration file, by the application's id, and with bpftool at run time; the pinned
# maps read like tables.
. "$(dirname "$0")/lib.sh"
net_up
need python3 bpftool
need_built
PIN=/sys/fs/bpf/sluice/$DEV_B
MODE=one
bg a python3 "$TESTS/net/reflector.py" "$A4" 7000 2
wait_udp a 7001

begin() { # settings...; starts rules.py, and asks for the first time
	SL_ENV=("$@")
	rm -f "$TMP/done" "$TMP/say"
	mkfifo "$TMP/say"
	exec 3<>"$TMP/say" # both ways: opening does not wait for the other end
	local in
	in=$(udp_stat b InDatagrams)
	bg sb python3 "$TESTS/net/rules.py" "$B4" "$A4" 7000 "$TMP/done" <"$TMP/say" 3>&-
	SUBJECT=$BG
	wait_line "$TMP/done" first
	BY_KERNEL=$(($(udp_stat b InDatagrams) - in))
}
again() { # word
	local in n
	in=$(udp_stat b InDatagrams)
	n=$(grep -c . "$TMP/done")
	echo "$1" >&3
	wait_until 20 eval '[ "$(grep -c . "$TMP/done")" -gt '"$n"' ]' || die "$1: never done"
	BY_KERNEL=$(($(udp_stat b InDatagrams) - in))
}
finish() {
	exec 3>&-
	wait_end "$SUBJECT" || fail "the program failed"
}
offloaded() { ok "$1: offloaded ($BY_KERNEL of 100 by the kernel)" test "$BY_KERNEL" -le 10; }
by_kernel() { ok "$1: by the kernel ($BY_KERNEL of 100)" test "$BY_KERNEL" -ge 90; }
conf() { printf '%s\n' "$@" >"$TMP/sluice.conf"; }
CONF=SLUICE_CONFIG_FILE=$TMP/sluice.conf

conf "# nothing"
begin "$CONF"
offloaded "no rules"
again connect
offloaded "no rules, connected"
finish

conf "use os udp_receiver *:*" "use os udp_sender *:*"
begin "$CONF"
by_kernel "use os for receivers and senders"
again connect
offloaded "a connected one is none of them"
finish

conf "use os udp_connect $NET4.0/24:7000"
begin "$CONF"
offloaded "use os for connected ones"
again connect
by_kernel "a connected one"
finish

conf "use sluice * $A4:7000" "use vma udp_receiver $B4:*" "use os * *:*"
begin "VMA_CONFIG_FILE=$TMP/sluice.conf"
offloaded "first match, VMA's names"
finish

conf "application-id * other" "use os * *:*"
begin "$CONF"
offloaded "another application's rule"
finish
begin "$CONF" SLUICE_APPLICATION_ID=other
by_kernel "this application's rule"
finish

conf "application-id python* *" "use os * *:*"
begin "$CONF"
by_kernel "a program's rule"
finish

conf "this is no rule" "use os" "use sluice udp_receiver 300.1.1.1:*" "use os * *:*"
begin "$CONF"
by_kernel "wrong lines are skipped"
ok "and told" file_has "$TMP/sluice.$SUBJECT.log" "sluice.conf:1:"
finish

# More rules than are looked at in any case, and names longer than a process's.
long=$(printf 'n%.0s' {1..120})
{
	for i in {1..299}; do echo "use sluice tcp_server *:$i"; done
	echo "application-id pyth*on$(printf '*%.0s' {1..100}) $long"
	echo "use os * *:*"
} >"$TMP/sluice.conf"
begin "$CONF" "SLUICE_APPLICATION_ID=${long}n"
offloaded "another long id's rule"
finish
begin "$CONF" "SLUICE_APPLICATION_ID=$long"
by_kernel "the 300th rule, for a long id"
finish

# At run time.
conf "# nothing"
begin "$CONF"
offloaded "before"
again connect

dump() { bpftool map dump pinned "$PIN/$1"; }
dump endpoints >"$TMP/endpoints"
dump flows >"$TMP/flows"
dump counters >"$TMP/counters"
ok "endpoints read like a table" file_has "$TMP/endpoints" '"local_port": [1-9]'
ok "flows read like a table" file_has "$TMP/flows" '"remote_port": 7000'
ok "the claim says whose it is" file_has "$TMP/flows" "\"pid\": $SUBJECT"
ok "counters read like a table" file_has "$TMP/counters" '"redirect_flow": [1-9]'

# struct sl_rule: for all, action SL_RULE_OS, as bytes.
os_rule=$(python3 -c "
import struct
end = struct.pack('<16sIHH', bytes(16), 0, 0, 65535)
print(*('%02x' % b for b in struct.pack('<II', 2, 0x1f) + end + end + bytes(256) + bytes(8) + bytes(16)))")
# shellcheck disable=SC2086
ok "bpftool writes a rule" bpftool map update pinned "$PIN/rules" key 0 0 0 0 value hex $os_rule
again new
by_kernel "the next socket"
again connect
by_kernel "the next connected one"
followed() { # word
	again "$1"
	[ "$BY_KERNEL" -ge 90 ]
}
ok "the old one goes to the kernel (looked at once a second)" wait_until 20 followed old
ok "and the old connected one" wait_until 20 followed held
# shellcheck disable=SC2046
ok "and takes it away" bpftool map update pinned "$PIN/rules" key 0 0 0 0 value hex \
	$(printf '00 %.0s' {1..336})
again new
offloaded "the one after"
came_back() { # word
	again "$1"
	[ "$BY_KERNEL" -le 10 ]
}
ok "the old one comes back" wait_until 20 came_back old
ok "and the old connected one" wait_until 20 came_back held
ok "a rule at a late place" b "$BUILD/sluice" rule add --device "$DEV_B" --at 400 --program 'pyth*on*' --id '*' use os '*' '*:*'
again new
by_kernel "it is seen"
ok "it goes" b "$BUILD/sluice" rule del --device "$DEV_B" 400
again new
offloaded "and is seen no more"
sent() { # how many of 100 the kernel sends, in SENT
	local out
	out=$(udp_stat b OutDatagrams)
	again last
	SENT=$(($(udp_stat b OutDatagrams) - out))
}
sent_by_kernel() { sent && [ $SENT -ge 90 ]; }
sent_by_us() { sent && [ $SENT -le 10 ]; }
ok "a rule for what is sent" b "$BUILD/sluice" rule add --device "$DEV_B" use os udp_sender '*:*'
ok "a socket that is there follows" wait_until 20 sent_by_kernel
offloaded "what it receives stays"
ok "a rule of some programs" b "$BUILD/sluice" rule add --device "$DEV_B" --at 2 --program 'db 2*' --id X use os tcp_client '10.0.0.0/8:5:*:7'
echo old >"$TMP/saved"
ok "the rules are saved" b "$BUILD/sluice" rule save --device "$DEV_B" "$TMP/saved"
same "as a configuration file" "use os udp_sender *:* application-id db?2* X use os tcp_client 10.0.0.0/8:5:*:7" \
	"$(grep -v '^#' "$TMP/saved" | xargs -d '\n')"
same "which says the same when it is read" "$(grep -v '^#' "$TMP/saved")" \
	"$(b "$BUILD/sluice" rule save --file "$TMP/saved" - | grep -v '^#')"
ok "no other file is left" test "$(echo "$TMP"/saved*)" = "$TMP/saved"
ok "that rule goes" b "$BUILD/sluice" rule del --device "$DEV_B" 2
ok "the rule goes" b "$BUILD/sluice" rule del --device "$DEV_B" 1
ok "so does what it sends" wait_until 20 sent_by_us
finish
done_testing
