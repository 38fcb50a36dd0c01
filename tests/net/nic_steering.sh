#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SLUICE_NIC_STEERING: without a daemon, rules in the NIC (here a simulated one: steering_nic.c) bring what a socket receives to the
# queue of its lane. They go with their sockets, and after kill -9, and no rule of somebody else's goes with them.
RX=xdp
. "$(dirname "$0")/lib.sh"
need python3 ethtool
net_up -q 4
STATE=$TMP/nic.state
MODE=one
nic() { "$BIN/steering_nic" "$STATE"; }
nic_says() { nic | grep -qx "$1"; }
on_nic() { b "$BIN/steering_nic" "$STATE" "$DEV_B" "/var/run/netns/${NS}a" "$DEV_A" "$@"; }
queue() { nic | sed -n "s/^[0-9]* $1 \([0-9]*\)$/\1/p"; } # "udp 7000 0"
came() { b ethtool -S "$DEV_B" | sed -n "s/^ *rx_queue_${1}_xdp_packets: //p"; }
starts() { # setting: PID is the program's
	local pre
	mapfile -t pre < <(preload_env b)
	mkfifo "$TMP/do.$1"
	exec 9<>"$TMP/do.$1"
	: >"$TMP/said"
	bg b "$BIN/steering_nic" "$STATE" "$DEV_B" "/var/run/netns/${NS}a" "$DEV_A" env "${pre[@]}" SLUICE_RX_BACKEND=xdp \
		SLUICE_RING=socket "SLUICE_NIC_STEERING=$1" "SLUICE_LOG_FILE=$TMP/sluice.%d.log" "SLUICE_STATS_SHMEM_DIR=$TMP/stats" \
		SLUICE_DAEMON=off python3 "$TESTS/net/nic_steering.py" "$B4" "$A4" 7100 <"$TMP/do.$1" >"$TMP/said"
	wait_line "$TMP/said" '^[0-9]'
	PID=$(grep -m 1 '^[0-9]' "$TMP/said")
}
answers() { # port, count
	same "port $1 answers" "$2 of $2" "$(a python3 "$TESTS/net/vxlan_native.py" udp "$B4" "$1" "$2")"
}
bg a python3 "$TESTS/net/echo_both.py" "$A4" 7100 >"$TMP/echo"
wait_line "$TMP/echo" ready
starts 1
offload_begin
declare -A Q
for port in 7000 7001 7002; do
	Q[$port]=$(queue "udp $port 0")
	ok "port $port has a rule" test -n "${Q[$port]}"
	before=$(came "${Q[$port]:-0}")
	answers "$port" 100
	ok "what it receives comes by that queue" test $(($(came "${Q[$port]:-0}") - before)) -ge 100
done
same "sockets with lanes of their own have queues of their own" 3 "$(printf '%s\n' "${Q[@]}" | sort -u | wc -l)"
ok "a listener has one" test -n "$(queue "tcp 7010 0")"
same "a socket that connects has one for its flow" 1 "$(nic | grep -c "tcp [0-9]* 7100 ")"
# Sockets that share a port: the NIC spreads over their lanes' queues, and nobody else's get a packet.
CONTEXT=$(queue "udp 7020 0 context")
ok "sockets that share a port have a context" test -n "$CONTEXT"
read -r -a over < <(nic | sed -n "s/^context $CONTEXT: //p")
same "of a queue for each" 2 "${#over[@]}"
all_came() { local q; for q in 0 1 2 3; do came $q; done; }
mapfile -t before < <(all_came)
same "each of 50 clients is answered" 50 "$(a python3 "$TESTS/net/nic_steering.py" ask "$B4" 7020 50)"
mapfile -t after < <(all_came)
for q in 0 1 2 3; do
	case " ${over[*]} " in
	*" $q "*) ok "by queue $q, which is one of theirs, packets came" test $((after[q] - before[q])) -gt 0 ;;
	*) ok "by queue $q none did" test $((after[q] - before[q])) -le 4 ;; # (neighbours')
	esac
done
rules=$(nic | grep "^rules")
same "a stream" "100000 of 100000" "$(a python3 "$TESTS/net/vxlan_native.py" tcp "$B4" 7010 100000)"
same "an accepted connection needs no rule" "$rules" "$(nic | grep "^rules")"
same "none of it by the kernel" 0 $(($(udp_stat b InDatagrams) - K_IN))
echo close >&9
ok "of two sockets that share a port one is closed: the rule leads to the other's queue" wait_until 5 eval '[ -n "$(queue "udp 7020 0")" ]'
same "the context has gone" "" "$(nic | grep '^context')"
answers 7020 50
ok "a socket that is closed has none" wait_until 5 eval '[ -z "$(queue "udp 7002 0")" ]'
ok "the others have theirs" test "$(queue "udp 7000 0")" = "${Q[7000]}"
echo share >&9
ok "a third socket shares the port: a context again" wait_until 5 eval '[ -n "$(queue "udp 7020 0 context")" ]'
kill -9 "$PID"
ok "after kill -9 there is none" wait_until 10 nic_says "rules 0"
ok "and no context" wait_until 10 eval '[ -z "$(nic | grep "^context")" ]'
ok "and rules are off, as they were" wait_until 10 nic_says "ntuple off"
# A rule of the administrator's for the same end.
# (ethtool(8) does -K by netlink, which the simulated NIC does not see.)
on_nic python3 -c '
import array, fcntl, socket, struct, sys
flags = array.array("I", (0x26, 1 << 27)) # ETHTOOL_SFLAGS: ntuple on
fcntl.ioctl(socket.socket(), 0x8946, struct.pack("16sP16x", sys.argv[1].encode(), flags.buffer_info()[0]))' "$DEV_B"
on_nic ethtool -N "$DEV_B" flow-type udp4 dst-ip "$B4" dst-port 7001 action 2 loc 5 >"$TMP/ethtool" 2>&1
ok "the administrator has one" nic_says "5 udp 7001 0 2"
rm -f "$TMP"/do.*
starts 1
ok "beside it are ours" test "$(nic | sed -n 's/^rules //p')" -ge 5
kill -9 "$PID"
ok "after kill -9 it stays" wait_until 10 nic_says "rules 1"
ok "where it was" nic_says "5 udp 7001 0 2"
ok "with rules on" nic_says "ntuple on"
# A NIC whose rules find no room.
rm -f "$TMP"/do.*
export NIC_PLACES=3
starts 1
same "a NIC takes no more than it has room for, beside the administrator's" "rules 4" "$(nic | grep "^rules")"
answers 7000 50
answers 7002 50
kill -TERM "$PID"
ok "a program that ends takes its own with it" wait_until 10 nic_says "rules 1"
unset NIC_PLACES
# A NIC without contexts.
rm -f "$TMP"/do.*
export NIC_SPREADS_NOT=1
starts 1
same "sockets that share a port have no rule there" "" "$(queue "udp 7020 0")$(queue "udp 7020 0 context")"
answers 7020 50
ok "the log says so" grep -q 'has no RSS contexts' "$TMP/sluice.$PID.log"
kill -TERM "$PID"
ok "its rules go with it" wait_until 10 nic_says "rules 1"
unset NIC_SPREADS_NOT
# A NIC that chooses where a rule lies.
rm -f "$TMP"/do.*
export NIC_CHOOSES=1
starts 1
ok "a NIC may choose where they lie" test -n "$(queue "udp 7002 0")"
kill -9 "$PID"
ok "after kill -9 the administrator's is there alone" wait_until 10 nic_says "rules 1"
unset NIC_CHOOSES
rm -f "$TMP"/do.*
starts 0
same "without the setting there are none" "rules 1" "$(nic | grep "^rules")"
kill -9 "$PID"
done_testing
