# SPDX-License-Identifier: BSD-2-Clause
# Two hosts with simulated NICs whose sockets are paced: which way, and what the library said of it.
#
# shellcheck shell=bash
unset SLUICE_STATS_SHMEM_DIR # a place of its own: what is listed is all that is there
VERBS=1
. "$(dirname "$0")/lib.sh"
need python3
net_up
MODE=simulated

said() { grep -q -e "$1" "$TMP"/sluice.*.log; }
# How many sockets are paced by the NIC, and by the wheel.
ways() {
	"$BUILD/sluice" pace -k "$TMP/stats" -j | python3 -c 'import json, sys
l = [s["by"] for s in json.load(sys.stdin)]
print(l.count("nic"), l.count("wheel"))'
}
are() { [ "$(ways)" = "$1" ]; }
