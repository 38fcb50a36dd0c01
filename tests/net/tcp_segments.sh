#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Scripts of segments against a real process over the veth: the peer is a program that speaks TCP by raw
# frames from an address that no kernel has. The kernel must pass each script first.
. "$(dirname "$0")/lib_tcp.sh"
need python3
net_up -t
b sysctl -qw net.ipv4.tcp_fastopen=3
GHOST_MAC=02:00:5e:10:00:77
MAC_B=$(ip -n "${NS}b" -o link show "$DEV_B" | sed 's/.*link.ether \([0-9a-f:]*\).*/\1/')
G4=$NET4.77 G6=$NET6::77
ghosts_are() { # a state of the neighbours
	ip -n "${NS}b" neigh replace "$G4" lladdr $GHOST_MAC dev "$DEV_B" nud "$1"
	ip -n "${NS}b" neigh replace "$G6" lladdr $GHOST_MAC dev "$DEV_B" nud "$1"
}
b sysctl -qw "net.ipv4.neigh.$DEV_B.locktime=0"
scripts() { # script...
	differ "segments$fam${1:+, $1}" a python3 "$TESTS/net/tcp_segments.py" "$DEV_A" "${!ghost}" $GHOST_MAC \
		"${!own}" "$MAC_B" "$TMP/far.$N" "$@"
}
N=0
subject() { # a process of its own, which knows nothing of the others' paths
	N=$((N + 1))
	bg pb python3 "$TESTS/net/tcp_far.py" "$TMP/far.$N"
	far=$BG
	wait_until 30 test -S "$TMP/far.$N" || die "the subject does not start"
}
for MODE in $MODES; do
	if [ "$MODE" = both ]; then # nobody on a is preloaded
		case " $MODES " in *" one "*) continue ;; esac
		MODE=one
	fi
	for fam in ${FAMILIES:-4 6}; do
		own=B$fam ghost=G$fam
		ip -n "${NS}b" route flush cache # (a path MTU that one mode was told)
		ip -n "${NS}b" -6 route flush cache
		subject
		ghosts_are permanent
		segs_begin
		scripts "$@"
		ghosts_are reachable
		ip -n "${NS}b" route flush cache # (icmp_small_mtu's)
		ip -n "${NS}b" -6 route flush cache
		[ $# -gt 0 ] || { stop "$far" && subject && scripts advertised_learned; }
		segs_end "segments$fam" 10
		stop "$far"
	done
done
done_testing
