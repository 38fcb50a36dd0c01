#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# sluice qos and tc_wrap: the manual's examples on a NIC that knows DCB (a stand-in, tests/qos/kernel.c), each kind of
# driver, refusals with their remedy, and what this kernel answers for a veth.
RX=packet # (nothing is received)
. "$(dirname "$0")/lib.sh"
net_up
need python3
MODE=one
TOOL=$BUILD/tests/qos/sluice
[ -x "$TOOL" ] || skip "the stand-in is not built"
for alias in mlnx_qos tc_wrap tc_wrap.py; do ln -s "$TOOL" "$TMP/$alias"; done
export QOS_DEVICE=$DEV_A QOS_STATE=$TMP/state QOS_DRIVER=mlx5
fresh() { rm -f "$QOS_STATE"; QOS_DRIVER=$1; }
qos() { a "$TOOL" qos -i "$DEV_A" "$@"; }
flat() { tr -s ' \n\t' ' ' | sed 's/ $//'; } # a printout on one line, as the manual's text has it
refused() { # what, status, words of the message, options...
	local what=$1 status=$2 words=$3 got
	shift 3
	qos "$@" >"$TMP/out" 2>"$TMP/err"
	got=$?
	same "$what is refused" "$status" "$got"
	ok "and says why" grep -q -e "$words" "$TMP/err"
	same "and nothing was set" "$BEFORE" "$(qos -a 2>&1)"
}

# The manual's first printout: DSCP trust, its default mapping, no buffers set here.
qos --trust dscp --cable_len 7 >"$TMP/out"
same "the configuration is printed as the manual's" "DCBX mode: OS controlled Priority trust state: dscp \
dscp2prio mapping: prio:0 dscp:07,06,05,04,03,02,01,00, prio:1 dscp:15,14,13,12,11,10,09,08, prio:2 \
dscp:23,22,21,20,19,18,17,16, prio:3 dscp:31,30,29,28,27,26,25,24, prio:4 dscp:39,38,37,36,35,34,33,32, prio:5 \
dscp:47,46,45,44,43,42,41,40, prio:6 dscp:55,54,53,52,51,50,49,48, prio:7 dscp:63,62,61,60,59,58,57,56, Receive buffer \
size (bytes): 130944,0,0,0,0,0,0,0,max_buffer_size=262016 Cable len: 7 PFC configuration: priority 0 1 2 3 4 5 6 7 enabled \
0 0 0 0 0 0 0 0 buffer 0 0 0 0 0 0 0 0 tc: 0 ratelimit: unlimited, tsa: vendor priority: 1 tc: 1 ratelimit: unlimited, tsa: \
vendor priority: 0 tc: 2 ratelimit: unlimited, tsa: vendor priority: 2 tc: 3 ratelimit: unlimited, tsa: vendor priority: 3 \
tc: 4 ratelimit: unlimited, tsa: vendor priority: 4 tc: 5 ratelimit: unlimited, tsa: vendor priority: 5 tc: 6 ratelimit: \
unlimited, tsa: vendor priority: 6 tc: 7 ratelimit: unlimited, tsa: vendor priority: 7" "$(flat <"$TMP/out")"
same "it stays" "$(cat "$TMP/out")" "$(qos)"
ok "mlnx_qos is the same tool" grep -q 'DCBX mode: OS' <(a "$TMP/mlnx_qos" -i "$DEV_A")

# The manual's examples of limits and classes, with lists that are shorter than eight.
qos -s strict,strict,strict -p 0,1,2,0,0,0,0,0 >/dev/null
qos -p 0,1,2 -r 3,4,2 >"$TMP/out"
ok "limits" grep -q 'tc: 0 ratelimit: 3 Gbps, tsa: strict' "$TMP/out"
same "of three classes" "3 4 2" "$(sed -n 's/^tc: .*ratelimit: \([0-9]*\) Gbps.*/\1/p' "$TMP/out" | xargs)"
qos -s ets,ets,strict -p 0,1,1,1,2,2,2 -t 30,70 >"$TMP/out"
same "shares" "tc: 0 ratelimit: 3 Gbps, tsa: ets, bw: 30% priority: 0 priority: 7 tc: 1 ratelimit: 4 Gbps, tsa: ets, bw: \
70% priority: 1 priority: 2 priority: 3 tc: 2 ratelimit: 2 Gbps, tsa: strict priority: 4 priority: 5 priority: 6" \
	"$(sed -n '/^tc/,$p' "$TMP/out" | flat)"
same "-a shows all classes" 8 "$(qos -a | grep -c '^tc:')"
ok "0 takes a limit away" grep -q 'tc: 0 ratelimit: unlimited' <(qos -r 0)
ok "parts of a Gbit/s" grep -q 'tc: 1 ratelimit: 0.5 Gbps' <(qos -r 0,0.5)
ok "a share of a strict class is ignored" grep -q 'tc: 2 .*tsa: strict' <(qos -t 40,60,99,0,0,0,0,0)

ok "flow control" grep -q 'enabled  *0 *0 *0 *0 *1 *1 *1 *1' <(qos --pfc=0,0,0,0,1,1,1,1)
same "of one priority" 1 "$(qos -P 5)"
same "some of it, silently" "" "$(qos -F x,x,x,x,0,x,x,x)"
same "the rest stays" "0 1" "$(qos -P 4) $(qos -P 7)"
ok "and the cable's length" grep -q 'Cable len: 7' <(qos)
ok "buffers" grep -q 'bytes): 87296,87296,0,87296,0,0,0,0,max' <(qos --buffer_size=87296,87296,0,87296,0,0,0,0)
ok "and their priorities" grep -q 'buffer  *0 *2 *5 *7 *1 *2 *3 *6' <(qos --prio2buffer 0,2,5,7,1,2,3,6)
for driver in mlx5 many; do
	fresh "$driver"
	ok "a DSCP value ($driver)" grep -q 'prio:2 dscp:30,$' <(qos --dscp2prio set,30,2)
	ok "moves to another priority" grep -q 'prio:5 dscp:30,$' <(qos --dscp2prio set,30,5)
	ok "and has no other" not grep -q 'prio:2' <(qos)
	ok "it is deleted" grep -q 'trust state: pcp' <(qos --dscp2prio del,30,5)
	ok "all are" grep -q 'trust state: pcp' <(qos --dscp2prio set,1,1 --dscp2prio set,2,2 --dscp2prio flush)
	ok "trust pcp" grep -q 'trust state: pcp' <(qos --trust dscp >/dev/null && qos --trust=pcp)
done

# The long names of all options do as the short ones.
fresh mlx5
qos -f 0,1 -p 0,1,2 -s ets,ets,strict -t 30,70 -r 3,4,2 -d os -a >"$TMP/short"
fresh mlx5
qos --pfc=0,1 --prio_tc=0,1,2 --tsa=ets,ets,strict --tcbw=30,70 --ratelimit=3,4,2 --dcbx=os --all >"$TMP/long"
same "long names" "$(cat "$TMP/short")" "$(cat "$TMP/long")"
same "eight classes are in both" 8 "$(grep -c '^tc:' "$TMP/long")"
ok "the version" grep -q '^sluice qos [0-9]' <(qos --version)
for option in $(sed -n 's/.*\(--[a-z0-9_]*\).*/\1/p' <(qos --help)); do
	ok "the manual has $option" grep -q -e "${option//-/\\\\-}" "$TOP/tools/sluice-qos.1"
done

# Refusals.
fresh mlx5
BEFORE=$(qos -a)
refused "a sum of 90 %" 2 'sum to 90 %, not 100: give each a share with -t' -s ets,ets -t 30,60 -f 1,1,1,1,1,1,1,1
refused "nine values" 2 '-p: at most 8 classes' -p 0,0,0,0,0,0,0,0,0
refused "a class of 8" 2 "found '8'" -p 8
refused "a word" 2 '-s: at most 8 of strict, ets and vendor' -s strict,est
refused "a broken list" 2 '-r: at most 8 rates' -r 1,,2
refused "a DSCP of 64" 2 "found 'set,64,1'" --dscp2prio set,64,1
refused "trust and a mapping" 2 'exclude each other' --trust pcp --dscp2prio flush
refused "a cable" 2 "--cable_len: a length from 0 to 65535 expected, found 'x'" --cable_len=x
refused "a DCBX mode" 2 "-d: os, fw or get expected, found 'xx'" --dcbx=xx
refused "a trust" 2 "--trust: pcp or dscp expected, found 'foo'" --trust foo
refused "a priority" 2 "-P: a priority from 0 to 7 expected, found '8'" --get_pfc=8
refused "some priorities" 2 "-F: 8 of 0, 1 and x expected, found '1,2'" --specific_pfc=1,2
refused "a buffer" 2 "--prio2buffer: at most 8 numbers from 0 to 7 expected, found '9'" --prio2buffer 9
refused "sizes" 2 "--buffer_size: at most 8 sizes in bytes expected, found 'x'" --buffer_size x
refused "flow control" 2 "-f: at most 8 of 0 and 1 expected, found '2'" --pfc=2
refused "a share" 2 "-t: at most 8 shares from 0 to 100 expected, found '101'" --tcbw=101
refused "a rate" 2 "-r: at most 8 rates in Gbit/s expected, found '-1'" --ratelimit=-1
refused "a priority of 8" 2 "found 'set,1,8'" --dscp2prio set,1,8
refused "an option" 2 "unrecognized option '--bogus'" --bogus
refused "a word" 2 "arguments: no other words are expected, found 'more'" more
refused "more than the NIC's buffer" 1 'does not take these values' --buffer_size 262016,1
ok "no privilege: run it as root" grep -q 'run it as root' <(a setpriv --reuid 65534 --clear-groups "$TOOL" qos -i "$DEV_A" -r 1 2>&1)
rm -f "$QOS_STATE"
ok "the firmware takes DCBX" grep -q 'DCBX mode: Firmware' <(qos -d fw)
ok "and gives it back" grep -q 'DCBX mode: OS' <(qos -d os)
fresh fixed
BEFORE=$(qos -a)
refused "DCBX that stays the firmware's" 1 "refused the DCBX mode 'os': the firmware" -d os
refused "what the firmware undoes" 1 'DCBX is the firmware.s, take it with -d os' -p 7,6,5,4,3,2,1,0
fresh bare
BEFORE=$(qos -a)
ok "a driver with classes alone" not grep -q 'DCBX\|PFC\|Receive' <<<"$BEFORE"
refused "buffers that it has not" 1 'receive buffers: Operation not supported; the driver does not offer' --prio2buffer 1
refused "DSCP that it has not" 1 'mapping a DSCP: Operation not supported' --dscp2prio set,1,1

# Maps of socket priorities: mqprio's and a VLAN device's.
fresh mlx5
wrapped() { a "$TMP/tc_wrap" -i "$DEV_A" "$@"; }
same "tc_wrap counts classes" 0 "$(wrapped -n)"
same "it makes eight" "Traffic classes are set to 8" "$(wrapped | head -n 1)"
same "and they stay" 8 "$(wrapped -n)"
rm -f "$QOS_STATE"
a ip link add v5 type dummy 2>/dev/null || a ip link add v5 type veth peer name v5p
export QOS_VLAN=v5
ok "a VLAN's priorities" grep -q 'skprio: 2 (vlan 5 tos: 8)' <(qos)
same "tc_wrap prints as the manual's" "UP 0 skprio: 0 (vlan 5) UP 1 skprio: 1 (vlan 5) UP 2 skprio: 2 (vlan 5 tos: 8) \
UP 3 skprio: 3 (vlan 5) UP 4 skprio: 4 (vlan 5 tos: 24) UP 5 skprio: 5 (vlan 5) UP 6 skprio: 6 (vlan 5 tos: 16) \
UP 7 skprio: 7 (vlan 5)" "$(wrapped | grep -v classes | grep -v 'skprio: [0-9]*$' | grep -v 'skprio: [0-9]* (tos' | flat)"
ok "socket priorities of mqprio" grep -q 'skprio: 4 (tos: 24)' <(qos)
# RoCE's file, in a copy of sysfs that this mount namespace alone sees.
cat >"$TMP/roce" <<'END'
mount -t tmpfs none /sys/class/net || exit 77
mkdir -p "/sys/class/net/$2/device/infiniband/mlx4_0" "/sys/class/net/$2/qos" && echo 1 >"/sys/class/net/$2/dev_port"
echo 0 >"/sys/class/net/$2/qos/tc_num"
mount -t tmpfs none /sys/class/infiniband 2>/dev/null || { mount -t tmpfs none /sys/class && mkdir -p "/sys/class/infiniband" \
	"/sys/class/net/$2/device/infiniband/mlx4_0" "/sys/class/net/$2/qos" && echo 1 >"/sys/class/net/$2/dev_port" &&
	echo 0 >"/sys/class/net/$2/qos/tc_num"; } || exit 77
mkdir -p /sys/class/infiniband/mlx4_0/ports/2 && : >/sys/class/infiniband/mlx4_0/ports/2/skprio2up
"$1" -i "$2" -u 0,1,2,3,4,5,6,7 && cat /sys/class/infiniband/mlx4_0/ports/2/skprio2up
END
a unshare -m bash "$TMP/roce" "$TMP/tc_wrap.py" "$DEV_A" >"$TMP/out" 2>&1
if [ $? = 77 ]; then say "# no mounts over sysfs here"; else
	ok "tc_wrap maps RoCE's priorities" grep -qx '0 1 2 3 4 5 6 7' "$TMP/out"
	ok "and lists them" grep -q 'skprio: 6 (tos: 16)' "$TMP/out"
	ok "with the classes of sysfs" grep -q 'classes are set to 8' "$TMP/out"
fi
ok "nine is no priority" grep -q "at most 16 priorities from 0 to 7 expected, found '9'" <(wrapped -u 9 2>&1)
ok "17 are too many" grep -q 'at most 16' <(wrapped --skprio_up=0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0 2>&1)
ok "tc_wrap needs a device" grep -q 'the name of an interface (-i) is needed' <(a "$TMP/tc_wrap" 2>&1)
ok "that is there" grep -q 'ip link. lists the devices' <(a "$TMP/tc_wrap" -i none0 2>&1)
ok "its version" grep -q '^tc_wrap [0-9]' <(a "$TMP/tc_wrap" --version)
ok "no RDMA device: use a VLAN's map" grep -q 'egress-qos-map' <(wrapped -u 0,1 2>&1)

# The kernel's own answers.
unset QOS_DEVICE QOS_VLAN
TOOL=$BUILD/sluice
if a dcb dcbx show dev "$DEV_A" 2>&1 | grep -q 'not supported'; then
	BEFORE=$(qos -a 2>&1)
	refused "a veth" 1 "$DEV_A: DCB: Operation not supported; the driver does not offer it over DCB" -r 1
fi
ok "no such device" grep -q 'ip link. lists' <(a "$TOOL" qos -i none0 2>&1)
ok "without a device" grep -q 'interface is needed' <(a "$TOOL" qos 2>&1)
done_testing
