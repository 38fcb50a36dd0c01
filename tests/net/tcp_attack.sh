#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Attacks on a TCP server: SYN flood, forged segments, ACK storms, tiny segments, holes, SACK of tiny
# pieces, windows of zero. Beside each an honest client is served, and memory and answers are bounded.
. "$(dirname "$0")/lib_tcp.sh"
need python3 "$BIN/tcp_peer"
net_up -t
# A quick machine has the honest client connect 28,000 times, as often as it has ports, within their TIME_WAIT.
a sysctl -qw net.ipv4.tcp_tw_reuse=1
GHOST_MAC=02:00:5e:10:00:77
MAC_B=$(ip -n "${NS}b" -o link show "$DEV_B" | sed 's/.*link.ether \([0-9a-f:]*\).*/\1/')
G4=$NET4.77 G6=$NET6::77
ip -n "${NS}b" neigh add "$G4" lladdr $GHOST_MAC dev "$DEV_B" nud permanent
ip -n "${NS}b" neigh add "$G6" lladdr $GHOST_MAC dev "$DEV_B" nud permanent
[ -z "${SHORT:-}" ] || export ATTACK_SECONDS=${ATTACK_SECONDS:-0.4}
# AddressSanitizer keeps what was freed (256 MiB of it), the kernel's server has it as well.
case $(basename "$BUILD") in *asan*) export MAY_GROW_MIB=500 ;; esac
for MODE in $MODES; do
	if [ "$MODE" = both ]; then # nobody on a is preloaded
		case " $MODES " in *" one "*) continue ;; esac
		MODE=one
	fi
	for fam in ${FAMILIES:-4 6}; do
		own=A$fam server=B$fam ghost=G$fam
		bg pb "$BIN/tcp_peer" "${!server}" 7000
		subject=$BG
		attacks=("$@")
		[ $fam = 6 ] && [ $# = 0 ] && attacks=(syn_flood reset_in_window holes)
		wait_tcp b 7000
		differ "attack$fam" a python3 "$TESTS/net/tcp_attack.py" "$DEV_A" "${!ghost}" $GHOST_MAC \
			"${!server}" "$MAC_B" "${!own}" "$subject" "${attacks[@]}"
		cat "$TMP/differ.err"
		stop "$subject"
	done
done
done_testing
