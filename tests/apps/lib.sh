# SPDX-License-Identifier: BSD-2-Clause
# For the scripts of this room: they run unmodified programs first on the kernel (the oracle), then
# with the server preloaded, the client, and both: MODE is kernel, server, client, both. pb is
# the server's side, on host b; pa the client's, on host a.
#
#   offload_begin        notes what the kernels of both hosts have counted
#   offload_end N [M]    asserts that of N datagrams to the server (M to the client) at most a tenth
#                        came through the kernel of a host whose program was preloaded
#   stat_sum PID COUNTER prints the sum of a counter over the sockets of a running preloaded program
#   said NAME            prints the path of a file for a program's output, in the present mode
# shellcheck shell=bash source=../net/lib.sh
HERE=$(dirname "${BASH_SOURCE[0]}")
[ -z "${SHORT:-}" ] || MODES=${MODES:-kernel both}
[ -e "${BUILD:-$HERE/../../build}/libsluice-preload.so" ] && MODES=${MODES:-${APPS_MODES:-kernel server client both}}
. "$HERE/../net/lib.sh"
TOOL=$BUILD/sluice
APPS=$TESTS/apps

server_is_ours() { [ "$MODE" = server ] || [ "$MODE" = both ]; }
client_is_ours() { [ "$MODE" = client ] || [ "$MODE" = both ]; }
pick() { # as in net/lib.sh
	WHO=$1
	case $1 in
	pa) if client_is_ours; then WHO=sa; else WHO=a; fi ;;
	pb) if server_is_ours; then WHO=sb; else WHO=b; fi ;;
	esac
}
said() { echo "$TMP/$MODE.$1"; }

offload_begin() { K_A=$(udp_stat a InDatagrams) K_B=$(udp_stat b InDatagrams); }
offload_end() { # to the server [to the client]
	local in_a in_b
	in_a=$(($(udp_stat a InDatagrams) - K_A))
	in_b=$(($(udp_stat b InDatagrams) - K_B))
	server_is_ours && ok "$in_b of $1 datagrams came through b's kernel" test $((in_b * 10)) -le "$1"
	# (A client that does not wait sends by the kernel until its device is open.)
	[ -n "${2:-}" ] && client_is_ours &&
		ok "$in_a of $2 datagrams came through a's kernel" test "$in_a" -le $(($2 / 10 + 10))
	return 0
}

stat_sum() {
	"$TOOL" stat -p "$1" --json | python3 -c '
import json, sys
print(sum(k.get(sys.argv[1], 0) for k in json.load(sys.stdin)["sockets"]))' "$2"
}
# True: the preloaded program has offloaded a socket on that port. (Datagrams that come before that
# wait in the kernel's queue, as they should, and would count as not offloaded.)
offloads() { "$TOOL" stat -p "$1" --json | grep -q '"offloaded": *true[^}]*"local": *"[^"]*:'"$2"'"'; }
wait_server() { # pid port
	wait_udp b "$2"
	server_is_ours || return 0
	wait_until 20 offloads "$1" "$2" || fail "port $2 is not offloaded"
}
alive() { ok "${2:-the server} still runs" kill -0 "$1"; }
