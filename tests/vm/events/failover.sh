#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A failover pair (virtio_net with a standby's feature, and a card with the same address: net_failover joins them) loses
# its card and gets it back, VM_COUNT times, under checked traffic. Connection and datagrams stay offloaded all the
# time; the longest pause at a plug-out is at most 100 ms, and at a plug-in, whose link the driver brings up, 2 s.
VM_NICS=failover VM_SECONDS=${VM_SECONDS:-3000}
. "$(dirname "$0")/../lib.sh"
. "$VM_DIR/lib_events.sh"
modprobe -a net_failover e1000e || skip "the guest's kernel has no net_failover"
# Host b is the guest's first network namespace: the kernel moves no failover device to another one.
hosts_up a b
trap leave EXIT
leave() {
	local rc=$?
	ip netns del "${NS}b"
	(exit "$rc")
	at_exit
}
ip netns del "${NS}b" && ip netns attach "${NS}b" 1 || skip "the first namespace gets no name"
by_driver() { # driver: the device's name
	local dev
	for dev in /sys/class/net/*; do [ "$(ethtool -i "${dev##*/}" 2>/dev/null | sed -n 's/^driver: //p')" != "$1" ] || echo "${dev##*/}"; done | grep .
}
DEV_A=$(nic 1 1) DEV_B=$(wait_until 20 by_driver net_failover) || die "there is no failover device"
A4=10.7.0.1 B4=10.7.0.2
ip link set "$DEV_A" netns "${NS}a"
has_card() { [ -n "$(by_driver e1000e)" ] && ip -o link show "$(by_driver e1000e)" | grep -q "master $DEV_B.*LOWER_UP\|LOWER_UP.*master $DEV_B"; }
addr_up a "$DEV_A" "$A4/24" && addr_up b "$DEV_B" "$B4/24" || die "no addresses"
ok "the card is the pair's primary" wait_until 60 has_card

BY=b MODE=kernel
OUT=$TMP/pauses
field() { cut -d' ' -f"$1" "$OUT"; }
talks() { # messages: both conversations have carried so many more
	local tcp udp
	tcp=$(($(field 1) + $1)) udp=$(($(field 2) + $1))
	wait_until 60 eval '[ "$(field 1)" -ge "$tcp" ] && [ "$(field 2)" -ge "$udp" ] || gone "$TALK"' && ! gone "$TALK"
}
again() { : >"$OUT.again" && wait_until 20 test ! -e "$OUT.again" && sleep 0.1; }
longest() { # since again(): of the connection, and of datagrams
	sleep 0.1
	cut -d' ' -f3,4 "$OUT"
}
pull() { unplug 1 p && wait_until 60 eval '[ -z "$(by_driver e1000e)" ]'; }
# (By QMP's own command: the human monitor's would find the number of the pair's card still taken.)
put_back() {
	local text args= field
	text=$(printf '%s\n' "$VM_DEVICES" | grep id=n1_p,)
	for field in ${text//,/ }; do
		case $field in *=*) args+=", \"${field%%=*}\": \"${field#*=}\"" ;; esac
	done
	qmp_ask '"device_add", "arguments": {"driver": "'"${text%%,*}\"$args"'}'
	while qmp_line; do
		case $LINE in
		*'"return"'*'"id": '$QMP_ID*) wait_until 60 has_card && return ;;
		*'"id": '$QMP_ID*) say "QEMU: $LINE" && return 1 ;;
		esac
	done
	return 1
}
# Pauses of the rounds go to $TMP/out.HOW and $TMP/in.HOW.
pair_rounds() { # how, count
	local round
	for round in $(seq "$2"); do
		again && pull && talks 20 && longest >>"$TMP/out.$1" && again && put_back && talks 20 && longest >>"$TMP/in.$1" ||
			{ say "round $round: $(cat "$OUT")" && return 1; }
		[ "$1" = kernel ] || { [ "$(kernels)" = 0 ] && carries_no_kernel; } || { say "round $round: by the kernel" && return 1; }
		[ $((round % 10)) != 0 ] || say "$1: $round rounds, $(cut -d' ' -f1 /proc/uptime) s up"
	done
}
carries_no_kernel() { # datagrams of 20 messages did not come through b's kernel
	local before
	before=$(udp_stat b InDatagrams)
	talks 20 && [ $(($(udp_stat b InDatagrams) - before)) -le 2 ]
}
said() { # how, which
	local f
	for f in 1 2; do
		cut -d' ' -f$f "$TMP/$2.$1" | sort -n | awk -v w="$1, card $2, $([ $f = 1 ] && echo connection || echo datagrams)" \
			'{ v[NR] = $1 } END { printf "%s: %d times, pause in ms: median %d, longest %d\n", w, NR, v[int((NR + 1) / 2)], v[NR] }'
	done
}
most() { cut -d' ' -f"$3" "$TMP/$2.$1" | sort -n | tail -n 1; }
bg a python3 "$VM_DIR/bytes.py" serve "$A4" 7001
wait_tcp a 7001
for how in kernel sluice; do
	who=b count=3
	[ $how = kernel ] || { who=sb count=${VM_COUNT:-100} && MODE=one; }
	rm -f "$OUT"*
	bg $who python3 "$VM_DIR/pauses.py" "$A4" 7001 "$OUT"
	TALK=$BG
	ok "$how: both carry" wait_until 60 test -s "$OUT" && talks 20
	ok "$how: they go on each time" pair_rounds $how $count
	[ $how = kernel ] || same "sluice stat counts the plug-outs" "VF Plugouts:         $count" \
		"$("$BUILD/sluice" stat -p "$TALK" -v 3 -c 1 2>&1 | grep -a '^VF Plugouts')"
	touch "$OUT.stop"
	ok "$how: nothing was wrong" wait_end "$TALK" 60
	say "$how: by the connection, datagrams, longest pauses, datagrams lost: $(cat "$OUT")"
	said $how out
	said $how in
done
same "plug-outs without the kernel" "${VM_COUNT:-100}" "$(wc -l <"$TMP/in.sluice")"
ok "datagrams pause for at most 100 ms at a plug-out" test "$(most sluice out 2)" -le 100
ok "a connection no longer than the kernel's" test "$(most sluice out 1)" -le $(($(most kernel out 1) + 30))
ok "they are back within 2 s of a plug-in" test "$(most sluice in 1)" -le 2000 -a "$(most sluice in 2)" -le 2000
grep -h 'port:' "$TMP"/sluice.*.log | head -n 5
kernel_quiet
done_testing
