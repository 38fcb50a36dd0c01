#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The mirror follows the kernel: routes, rules, links, addresses, MTU, groups, neighbours, and
# finds back after lost events. Spoken to through mirror_probe; nothing is preloaded.
. "$(dirname "$0")/lib.sh"

need "$BIN/mirror_probe" ip socat python3
net_up -c
# The subject is host b: it has two networks, to a and to c.
dev=$DEV_B dev2=$DEV_BC

coproc PROBE { (in_ns b "$BIN/mirror_probe"); }
PIDS+=("$PROBE_PID")
exec 8<&"${PROBE[0]}" 9>&"${PROBE[1]}"
hear() {
	local line
	read -r -t 60 line <&8 || line="(no answer)"
	printf '%s' "$line"
}
ask() {
	printf '%s\n' "$*" >&9
	hear
}
ipb() { ip -n "${NS}b" "$@"; }
# Waits until the answer is as expected, for changes that the kernel makes later.
becomes() { # what, expected, question...
	local what=$1 want=$2
	shift 2
	is() { [ "$(ask "$@")" = "$want" ]; }
	wait_until 10 is "$@"
	same "$what" "$want" "$(ask "$@")"
}
is_route() { same "$1" "$2" "$(ask route $3)"; }
[ "$(hear)" = ready ] || die "the mirror does not open"

# Routes ---------------------------------------------------------------------------------------
via4=$A4 via6=$A6
is_route "on-link" "device $dev mtu 1500 src $B4 hop $A4 hl 64" "$A4"
is_route "IPv6 on-link" "device $dev mtu 1500 src $B6 hop $A6 hl 64" "$A6"
is_route "second network" "device $dev2 mtu 1500 src $B4C hop $C4 hl 64" "$C4"
own=$(ask route "$B4")
same "own address is local" local "${own%% *}"
own=$(ask route "$B6")
same "own IPv6 address is local" local "${own%% *}"
own=$(ask route 127.0.0.1)
same "loopback is local" local "${own%% *}"
is_route "subnet broadcast" "broadcast $dev mtu 1500 src $B4 hop ${NET4}.255 hl 64" "${NET4}.255"
is_route "limited broadcast on a device" \
	"broadcast $dev2 mtu 1500 src $B4C hop 255.255.255.255 hl 64" "255.255.255.255 oif $dev2"
is_route "nowhere" "unreachable ENETUNREACH" 192.0.2.1
is_route "IPv6 nowhere" "unreachable ENETUNREACH" 2001:db8::1

gen=$(ask gen)
ipb route add 192.0.2.0/24 via "$via4" mtu 1300 hoplimit 9
ipb -6 route add 2001:db8::/64 via "$via6" mtu 1400
is_route "gateway, metrics" "device $dev mtu 1300 src $B4 hop $via4 hl 9" 192.0.2.1
is_route "IPv6 gateway, metrics" "device $dev mtu 1400 src $B6 hop $via6 hl 64" 2001:db8::1
ok "a route raises the generation" test "$(ask gen)" -gt "$gen"
is_route "source is kept" "device $dev mtu 1300 src $B4C hop $via4 hl 9" "192.0.2.1 src $B4C"
ipb route add 198.51.100.0/24 via inet6 "$via6" dev "$dev"
is_route "IPv6 next hop of an IPv4 route" "device $dev mtu 1500 src $B4 hop $via6 hl 64" 198.51.100.1
kernel_says() { # destination: prints the errno with which the kernel refuses to send
	b python3 -c '
import errno, socket, sys
s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
try:
    s.sendto(b"x", (sys.argv[1], 9))
except OSError as e:
    print(errno.errorcode[e.errno])' "$1"
}
for t in blackhole:EINVAL unreachable:EHOSTUNREACH prohibit:EACCES throw:ENETUNREACH; do
	ipb route replace "${t%:*}" 203.0.113.0/24
	is_route "${t%:*}" "unreachable ${t#*:}" 203.0.113.1
	same "the kernel refuses with ${t#*:}" "${t#*:}" "$(kernel_says 203.0.113.1)"
	ipb -6 route replace "${t%:*}" 2001:db8:3::/64
	is_route "IPv6 ${t%:*}" "unreachable ${t#*:}" 2001:db8:3::1
	same "the kernel refuses IPv6 with ${t#*:}" "${t#*:}" "$(kernel_says 2001:db8:3::1)"
	ipb route del "${t%:*}" 203.0.113.0/24
	ipb -6 route del "${t%:*}" 2001:db8:3::/64
done
same "a source that is not ours" "unreachable ENETUNREACH" "$(ask route "$A4" src 192.0.2.99)"

# Policy ---------------------------------------------------------------------------------------
gen=$(ask gen)
ipb route add default via "$C4" table 77
ipb -6 route add default via "$C6" table 77
ipb rule add fwmark 5 table 77
ipb -6 rule add fwmark 5 table 77
ipb rule add tos 0x10 table 77
ok "a rule raises the generation" test "$(ask gen)" -gt "$gen"
is_route "by mark" "device $dev2 mtu 1500 src $B4C hop $C4 hl 64" "192.0.2.1 mark 5"
is_route "IPv6 by mark" "device $dev2 mtu 1500 src $B6C hop $C6 hl 64" "2001:db8::1 mark 5"
is_route "by TOS" "device $dev2 mtu 1500 src $B4C hop $C4 hl 64" "192.0.2.1 tos 0x10"
is_route "by TOS, whatever ECN" "device $dev2 mtu 1500 src $B4C hop $C4 hl 64" "192.0.2.1 tos 0x13"
is_route "without the mark" "device $dev mtu 1300 src $B4 hop $via4 hl 9" 192.0.2.1
ipb rule add from "$B4C" prohibit
is_route "a rule that prohibits" "unreachable EACCES" "192.0.2.1 src $B4C"

# Several next hops: the kernel chooses one, and the answer names it.
ipb route add 198.18.0.0/24 nexthop via "$A4" nexthop via "$C4"
r=$(ask route 198.18.0.1)
same "multipath is one next hop" device "${r%% *}"
r=$(ask route 198.18.0.1 oif "$dev2")
is_route "a device's own next hop" "device $dev2 mtu 1500 src $B4C hop $C4 hl 64" \
	"198.18.0.1 oif $dev2"
if ipb route add 198.18.1.0/24 encap ip id 9 dst "$A4" via "$A4" dev "$dev" 2>/dev/null; then
	r=$(ask route 198.18.1.1)
	same "encapsulated is the kernel's" other "${r%% *}"
fi

# Groups ---------------------------------------------------------------------------------------
is_route "group, no member" "multicast $dev mtu 1500 src $B4 hop 239.1.2.3 hl 64" \
	"239.1.2.3 oif $dev"
is_route "IPv6 group, no member" "multicast $dev mtu 1500 src $B6 hop ff05::99 hl 64" \
	"ff05::99 oif $dev"
gen=$(ask gen)
bg b socat -u "UDP4-RECV:7001,ip-add-membership=239.1.2.3:$dev" /dev/null
m4=$BG
bg b socat -u "UDP6-RECV:7002,ipv6-join-group=[ff05::99]:$dev" /dev/null
m6=$BG
becomes "group with a member" "local $dev mtu 1500 src $B4 hop 239.1.2.3 hl 64" \
	route 239.1.2.3 oif "$dev"
becomes "IPv6 group with a member" "local $dev mtu 1500 src $B6 hop ff05::99 hl 64" \
	route ff05::99 oif "$dev"
case $(uname -r) in
[7-9].* | 6.1[4-9]*) ok "a join raises the generation" test "$(ask gen)" -gt "$gen" ;;
esac
is_route "member on another device only" "multicast $dev2 mtu 1500 src $B4C hop 239.1.2.3 hl 64" \
	"239.1.2.3 oif $dev2"
stop "$m4" "$m6"
becomes "after the member left" "multicast $dev mtu 1500 src $B4 hop 239.1.2.3 hl 64" \
	route 239.1.2.3 oif "$dev"

# Links and addresses --------------------------------------------------------------------------
ask events >/dev/null
mac_of() { ip -n "$NS$1" -o link show "$2" | sed 's/.*link.ether \([^ ]*\) .*/\1/'; }
mac=$(mac_of b "$dev")
same "link" "$dev mtu 1500 up carrier kind veth mac $mac master 0" "$(ask link "$dev")"
ipb link set "$dev" mtu 1280
becomes "MTU of the link" "device $dev mtu 1280 src $B4 hop $A4 hl 64" route "$A4"
is_route "a route's MTU above the link's" "device $dev mtu 1280 src $B6 hop $via6 hl 64" 2001:db8::1
ipb link set "$dev" mtu 1500
b sysctl -qw "net.ipv6.conf.$dev.mtu=1300"
ok "IPv4 is not told IPv6's MTU" test "$(ask route "$A4")" = "device $dev mtu 1500 src $B4 hop $A4 hl 64"
is_route "IPv6's own MTU of the device" "device $dev mtu 1300 src $B6 hop $A6 hl 64" "$A6"
b sysctl -qw "net.ipv6.conf.$dev.mtu=1500"
ask events >/dev/null
ipb addr add 192.0.2.200/32 dev "$dev"
same "address added: event" "1 addr:$dev/192.0.2.200=there" "$(ask events)"
same "address added: local" yes "$(ask local 192.0.2.200)"
ipb addr add 2001:db8:7::1/64 dev "$dev" nodad
same "IPv6 address added" yes "$(ask local 2001:db8:7::1)"
ipb addr del 192.0.2.200/32 dev "$dev"
same "address removed" no "$(ask local 192.0.2.200)"
same "not ours" no "$(ask local "$A4")"
gen=$(ask gen)
ask events >/dev/null
ipb link set "$dev2" down
same "link down: its address" no "$(ask local "$B4C")"
case $(ask events) in
*"link:$dev2=there"*"addr:$dev2/$B4C=gone"*) pass "link down: events" ;;
*) fail "link down: events" ;;
esac
ok "link down raises the generation" test "$(ask gen)" -gt "$gen"
is_route "link down: route" "unreachable ENETUNREACH" "$C4"
ipb link set "$dev2" up
same "link up: its address" yes "$(ask local "$B4C")"
ip -n "${NS}c" link set "$DEV_C" down
# (The kernel tells it in a work queue, at most once a second for each device: linkwatch.)
no_carrier() { [[ $(ask link "$dev2") == *" up no-carrier "* ]]; }
ok "carrier lost" wait_until 10 no_carrier
ip -n "${NS}c" link set "$DEV_C" up
ipb link add x1 type bridge || die "no bridge can be made"
ipb addr add 192.0.2.201/32 dev x1
ipb link set x1 up
idx=$(ipb -o link show x1 | cut -d: -f1)
same "new device" yes "$(ask local 192.0.2.201)"
case $(ask links) in *" x1"*) pass "new device is listed" ;; *) fail "new device is listed" ;; esac
ipb link del x1
same "device gone" none "$(ask link "$idx")"
same "device gone: its address" no "$(ask local 192.0.2.201)"

# Neighbours -----------------------------------------------------------------------------------
m=02:00:00:00:00
same "neighbour unknown" none "$(ask neigh "$dev" "$NET4.77")"
gen=$(ask gen)
for s in permanent reachable noarp; do
	ipb neigh replace "$NET4.77" lladdr $m:01 nud $s dev "$dev"
	same "neighbour $s" "$m:01" "$(ask neigh "$dev" "$NET4.77")"
done
ipb neigh replace "$NET4.77" lladdr $m:02 nud stale dev "$dev"
same "neighbour stale, new MAC" "$m:02 probe" "$(ask neigh "$dev" "$NET4.77")"
ipb neigh replace "$NET4.77" nud failed dev "$dev"
same "neighbour failed" none "$(ask neigh "$dev" "$NET4.77")"
ipb neigh replace "$NET4.77" lladdr $m:03 nud permanent dev "$dev"
same "use leaves a permanent one" "$m:03" "$(ask use "$dev" "$NET4.77")"
ok "it is permanent still" sh -c "ip -n ${NS}b neigh show $NET4.77 | grep -q PERMANENT"
ipb neigh del "$NET4.77" dev "$dev"
same "neighbour deleted" none "$(ask neigh "$dev" "$NET4.77")"
same "neighbours leave the generation alone" "$gen" "$(ask gen)"
ipb neigh replace "$NET4.78" lladdr $m:04 nud permanent dev "$dev"
same "known before it was asked for" "$m:04" "$(ask neigh "$dev" "$NET4.78")"
ipb neigh replace "$NET6::78" lladdr $m:05 nud stale dev "$dev"
same "IPv6 stale before it was asked for" "$m:05 probe" "$(ask neigh "$dev" "$NET6::78")"
mac=$(mac_of a "$DEV_A")
ipb neigh flush dev "$dev"
same "flushed" none "$(ask neigh "$dev" "$A4")"
ask use "$dev" "$A4" >/dev/null
becomes "resolved by use" "$mac" neigh "$dev" "$A4"
ask use "$dev" "$A6" >/dev/null
becomes "IPv6 resolved by use" "$mac" neigh "$dev" "$A6"
ipb neigh replace "$A4" lladdr $m:06 nud stale dev "$dev"
same "stale before use" "$m:06 probe" "$(ask neigh "$dev" "$A4")"
same "use asks for the probe once" "$m:06" "$(ask use "$dev" "$A4")"
ask gen >/dev/null # the keeper's turn
state() { ipb neigh show "$A4" dev "$dev"; }
case $(state) in *DELAY* | *PROBE* | *REACHABLE*) pass "use starts the probe" ;;
*) fail "use starts the probe: $(state)" ;; esac

# Lost events: more than the receive buffer holds, unread --------------------------------------
lines() { # command: prints it many times, for `ip -batch`
	for i in $(seq 0 $(($2 / 250 - 1))); do for j in $(seq 1 250); do
		printf '%s 10.%s.%s.%s/32 dev %s\n' "$1" "$3" "$i" "$j" "$dev"
	done; done
}
{
	lines "route add" 20000 200
	lines "addr add" 250 201
} >"$TMP/flood"
{
	lines "route del" 20000 200
	lines "addr del" 250 201
} >"$TMP/ebb"
lost() { b awk '$9 > 0 { n += $9 } END { print n + 0 }' /proc/net/netlink; }
before=$(ask count)
gen=$(ask gen)
ask events >/dev/null
ipb -batch "$TMP/flood" || die "the flood failed"
was=$(lost)
ok "the flood was more than the socket could hold" test "$was" -gt 0
same "addresses unheard are seen" $((before + 250)) "$(ask count)"
same "and told" 250 "$(ask events | grep -o '/10.201[^ ]*=there' | wc -l)"
ok "lost or not, the generation is raised" test "$(ask gen)" -gt "$gen"
ipb neigh replace "$NET4.79" lladdr $m:07 nud permanent dev "$dev"
same "neighbour before the flood" "$m:07" "$(ask neigh "$dev" "$NET4.79")"
ipb -batch "$TMP/ebb" || die "the ebb failed"
ipb neigh del "$NET4.79" dev "$dev"
ok "events were lost again" test "$(lost)" -gt "$was"
same "they are gone again" "$before" "$(ask count)"
same "and told so" 250 "$(ask events | grep -o '/10.201[^ ]*=gone' | wc -l)"
same "neighbour deleted unheard" none "$(ask neigh "$dev" "$NET4.79")"
is_route "routes after the flood" "device $dev mtu 1500 src $B4 hop $A4 hl 64" "$A4"

# A child of the process opens a mirror of its own; the parent's goes on.
r=$(ask fork "$A4")
same "in a child after fork" "before ENOTCONN after 0 kind 0 mtu 1500" "$r"
ipb link set "$dev" mtu 1400
is_route "the parent follows still" "device $dev mtu 1400 src $B4 hop $A4 hl 64" "$A4"
say "cost: $(ask bench "$A4" "$dev")"
exec 9>&-
done_testing
