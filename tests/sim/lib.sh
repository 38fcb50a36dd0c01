# SPDX-License-Identifier: BSD-2-Clause
# For tests on the simulated NIC (tests/sim/nic): hosts as in tests/net/lib.sh; the NIC is on host a,
# its port is a's veth, and whoever looks at what it sends is on b.
#
#   sim_need              skips where the simulated NIC cannot be
#   sim_up [OPTIONS]      makes its sysfs tree: SIM is its directory. OPTIONS as in nic/device.c:
#                         min_inline=18,rates=127,...
#   sim CMD..             runs CMD on host a with the NIC; sim_bg CMD.. in the background (BG)
#   receive WHAT ARGS..   starts the independent receiver on b; received ends it: its report is
#                         in the file $TMP/received, value NAME gives one figure of it
#
# shellcheck shell=bash
# shellcheck source=tests/net/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../net/lib.sh"

MODE=simulated
SIM_BIN=$BUILD/tests/sim
SIM_LIB=$SIM_BIN/libsimulated-nic.so
SIM_OPTIONS=
SIM_CAPTURE=

sim_need() {
	local lib
	for lib in libibverbs.so.1 libmlx5.so.1; do
		/sbin/ldconfig -p | grep -q "$lib" || skip "no $lib: rdma-core is not installed"
	done
	[ -e "$SIM_LIB" ] || skip "the simulated NIC was not built: no rdma-core headers (apt: libibverbs-dev)"
	need ibv_devinfo
}

put() { # value, file: both made
	mkdir -p "$(dirname "$2")"
	printf '%s\n' "$1" >"$2"
}

# What the kernel shows of an mlx5 device, as far as libibverbs reads it.
sim_sysfs() { # directory, network device
	local verbs=$1/class/infiniband_verbs ib=$1/class/infiniband/simulated0 mac
	put 6 "$verbs/abi_version"
	put 1:3 "$verbs/uverbs0/dev" # of /dev/null, which stands in for the device's node
	put 1 "$verbs/uverbs0/abi_version"
	put simulated0 "$verbs/uverbs0/ibdev"
	put '1: CA' "$ib/node_type"
	put 0200:00ff:fe00:0001 "$ib/node_guid"
	put 22.39.1002 "$ib/fw_ver"
	put SIMULATED "$ib/board_id"
	put 'simulated by tests/sim' "$ib/node_desc"
	put pci:v000015B3d0000101Dsv000015B3sd00000016bc02sc00i00 "$ib/device/modalias"
	put 0x15b3 "$ib/device/vendor"
	put 0x101d "$ib/device/device"
	put -1 "$ib/device/numa_node"
	put "$(a ip -o link show "$2" | cut -d: -f1)" "$ib/device/net/$2/ifindex"
	put 0x0 "$ib/device/net/$2/dev_port"
	put '4: ACTIVE' "$ib/ports/1/state"
	put Ethernet "$ib/ports/1/link_layer"
	mac=$(a ip -o link show "$2" | sed 's/.*link.ether \([0-9a-f:]*\).*/\1/')
	put "fe80:0000:0000:0000:${mac:0:2}${mac:3:2}:${mac:6:2}ff:fe${mac:9:2}:${mac:12:2}${mac:15:2}" \
		"$ib/ports/1/gids/0"
	put "$2" "$ib/ports/1/gid_attrs/ndevs/0"
	put 'RoCE v2' "$ib/ports/1/gid_attrs/types/0"
}

sim_up() {
	SIM_COUNT=$((${SIM_COUNT:-0} + 1))
	SIM=$TMP/sim$SIM_COUNT
	SIM_OPTIONS=${1:-}
	mkdir "$SIM"
	sim_sysfs "$SIM/sys" "$DEV_A"
}

sim_env() {
	local pre=$SIM_LIB
	case $(basename "$BUILD") in
	*asan*)
		pre="$(gcc -print-file-name=libasan.so):$pre"
		printf '%s\n' "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0:abort_on_error=1:$ASAN_LOG" \
			"UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:$ASAN_LOG"
		;;
	esac
	printf '%s\n' "LD_PRELOAD=$pre" "SYSFS_PATH=$SIM/sys" "SIM_NIC=$SIM" "SIM_NIC_NETDEV=$DEV_A" \
		"SIM_NIC_OPTIONS=$SIM_OPTIONS" "SIM_NIC_CAPTURE=$SIM_CAPTURE"
}
in_sim() { # replaces this (sub)shell
	local env
	mapfile -t env < <(sim_env)
	in_ns a env "${env[@]}" "$@"
}
sim() { (in_sim "$@"); }
sim_bg() {
	(in_sim "$@") <&0 &
	BG=$!
	PIDS+=("$BG")
}

receive() {
	: >"$TMP/received"
	bg b "$SIM_BIN/receive" "$DEV_B" "$@" >"$TMP/received"
	RECEIVER=$BG
	wait_line "$TMP/received" '^listening'
}
received() { # waits for its report
	wait_end "$RECEIVER" 60 || fail "the receiver found the frames wrong"
	sed 's/^/  /' "$TMP/received"
}
value() { # name
	sed -n "s/^$1 //p" "$TMP/received"
}
# The report that the NIC left when the program ended.
counted() { # name
	sed -n "s/^$1 //p" "$SIM"/report.*
}
