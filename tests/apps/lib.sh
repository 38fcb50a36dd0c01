# SPDX-License-Identifier: BSD-2-Clause
# For the scripts of this room: unmodified programs of others, each first on the kernel (the
# oracle), then with the server preloaded (MODE server), the client (client), and both. The server
# runs on host b, the client on host a.
#
#   for_modes            loop body: `for MODE in $APP_MODES; do ... done`
#   bgserver CMD..       starts the server on b (BG is its PID), preloaded where the mode says so
#   client CMD..         runs the client on a, likewise; bgclient: in the background
#   meter_begin          notes what the kernels of both hosts have counted
#   meter_end N [M]      asserts that of N datagrams to the server (M to the client) at most a tenth
#                        came through the kernel of a host whose program was preloaded
#   stat_sum PID COUNTER sum of a counter over the sockets of a running preloaded program
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/../net/lib.sh"

TOOL=$BUILD/sluice
APPS=$TESTS/apps
if [ -e "$PRELOAD" ]; then APP_MODES=${APP_MODES:-kernel server client both}; else APP_MODES=kernel; fi

server_is_ours() { [ "$MODE" = server ] || [ "$MODE" = both ]; }
client_is_ours() { [ "$MODE" = client ] || [ "$MODE" = both ]; }
server_host() { if server_is_ours; then echo sb; else echo b; fi; }
client_host() { if client_is_ours; then echo sa; else echo a; fi; }
bgserver() { bg "$(server_host)" "$@"; }
bgclient() { bg "$(client_host)" "$@"; }
client() { (in_ns "$(client_host)" "$@"); }

# What the program under test says is kept by mode, for a look when something fails.
said() { echo "$TMP/$MODE.$1"; }

meter_begin() { M_A=$(udp_stat a InDatagrams) M_B=$(udp_stat b InDatagrams); }
meter_end() { # to the server [to the client]
	local in_a in_b
	in_a=$(($(udp_stat a InDatagrams) - M_A))
	in_b=$(($(udp_stat b InDatagrams) - M_B))
	server_is_ours && ok "server: $in_b of $1 datagrams by the kernel" test $((in_b * 10)) -le "$1"
	[ -n "${2:-}" ] && client_is_ours &&
		ok "client: $in_a of $2 datagrams by the kernel" test $((in_a * 10)) -le "$2"
	return 0
}

stat_sum() {
	"$TOOL" stat -p "$1" --json | python3 -c '
import json, sys
print(sum(k.get(sys.argv[1], 0) for k in json.load(sys.stdin)["sockets"]))' "$2"
}
# At least N datagrams reached the running server past the kernel, when it is preloaded.
bypassed() { # pid N
	server_is_ours || return 0
	local n
	n=$(stat_sum "$1" rx_pkts)
	ok "$n datagrams past the kernel (at least $2)" test "${n:-0}" -ge "$2"
}
# A program that died on a signal is never a result.
alive() { ok "${2:-the server} still runs" kill -0 "$1"; }
