# SPDX-License-Identifier: BSD-2-Clause
# Joins the hosts of net_up by pairs of NICs that lie back to back, instead of veth. LINKS has the numbers of the pairs
# (lib_boot.sh), NIC_FEATURES the features to set (as for ethtool -K), NIC_QUEUES the number of queues, whatever the test
# asks for. A test moves the NICs back before it deletes its namespaces (leave_nics). The kernel would move them back
# only after the last connection of the namespace has ended; one of a dead program with unsent data takes minutes.
# shellcheck shell=bash source=../net/lib.sh
nic() { # pair, 1 or 2: prints its name (starts no program, since callers that wait for a NIC call this often)
	local dir address want
	printf -v want '02:00:00:00:%02x:0%d' "$1" "$2"
	for dir in /sys/class/net/*; do
		read -r address <"$dir/address" && [ "$address" = "$want" ] && echo "${dir##*/}" && return
	done 2>/dev/null
	return 1
}

LINKS_USED=${LINKS_USED:-0}
join_nics() { # host1 host2 device1 device2 queues mtu, as of net_up
	local pairs n i dev queues=${NIC_QUEUES:-$5}
	read -r -a pairs <<<"$LINKS"
	[ $LINKS_USED -lt ${#pairs[@]} ] || skip "there are ${#pairs[@]} pairs of NICs here"
	n=${pairs[$LINKS_USED]}
	LINKS_USED=$((LINKS_USED + 1))
	for i in 1 2; do
		wait_until 60 nic "$n" $i >/dev/null || die "where is NIC $i of pair $n?"
		dev=$(nic "$n" $i)
		ip link set "$dev" down
		# (Some NICs have fewer queues.)
		[ "$(nic_queues "$dev")" = "$queues" ] || ethtool -L "$dev" combined "$queues" 2>/dev/null
		# shellcheck disable=SC2086
		[ -z "${NIC_FEATURES:-}" ] || ethtool -K "$dev" $NIC_FEATURES >/dev/null || die "NIC $i of pair $n: no $NIC_FEATURES"
		ip link set "$dev" mtu "$6" name "v$$.$n.$i" || die "NIC $i of pair $n takes no MTU of $6"
		if [ $i = 1 ]; then
			ip link set "v$$.$n.$i" netns "$NS$1" name "$3"
		else
			ip link set "v$$.$n.$i" netns "$NS$2" name "$4"
		fi || die "NIC $i of pair $n does not move"
	done
}
nic_queues() { # device
	ethtool -l "$1" 2>/dev/null | awk '/^Combined/ { n = $2 } END { print n + 0 }'
}
leave_nics() { # namespace
	local dev
	for dev in $(ip -n "$1" -br link show | grep -oE "^v$$[a-z] "); do
		ip -n "$1" link set "$dev" netns 1
	done
}
