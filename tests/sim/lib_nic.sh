# SPDX-License-Identifier: BSD-2-Clause
# The simulated NIC for a harness: tests/sim/lib.sh, and tests/net/lib.sh with VERBS=1.
#
# shellcheck shell=bash
SIM_LIB=$BUILD/tests/sim/libsimulated-nic.so

sim_need() {
	local lib
	for lib in libibverbs.so.1 libmlx5.so.1; do
		/sbin/ldconfig -p | grep -q "$lib" || skip "no $lib: rdma-core is not installed"
	done
	[ -e "$SIM_LIB" ] || skip "the simulated NIC was not built: no rdma-core headers (apt: libibverbs-dev)"
	need ibv_devinfo
}

put() { # value, file; makes the directory, too
	mkdir -p "$(dirname "$2")"
	printf '%s\n' "$1" >"$2"
}

# Writes the files in which the kernel shows an mlx5 device, as far as libibverbs reads them.
sim_sysfs() { # host, directory, network device
	local on=$1 verbs=$2/class/infiniband_verbs ib=$2/class/infiniband/simulated0 dev=$3 mac
	put 6 "$verbs/abi_version"
	put 1:3 "$verbs/uverbs0/dev" # /dev/null's number: it stands in for the device's node
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
	put "$("$on" ip -o link show "$dev" | cut -d: -f1)" "$ib/device/net/$dev/ifindex"
	put 0x0 "$ib/device/net/$dev/dev_port"
	put '4: ACTIVE' "$ib/ports/1/state"
	put Ethernet "$ib/ports/1/link_layer"
	put 0 "$ib/ports/1/hw_counters/out_of_buffer"
	chmod 666 "$ib/ports/1/hw_counters/out_of_buffer"
	mac=$("$on" ip -o link show "$dev" | sed 's/.*link.ether \([0-9a-f:]*\).*/\1/')
	put "fe80:0000:0000:0000:${mac:0:2}${mac:3:2}:${mac:6:2}ff:fe${mac:9:2}:${mac:12:2}${mac:15:2}" \
		"$ib/ports/1/gids/0"
	put "$dev" "$ib/ports/1/gid_attrs/ndevs/0"
	put 'RoCE v2' "$ib/ports/1/gid_attrs/types/0"
}

nic_env() { # directory, network device
	printf '%s\n' SLUICE_TX_BACKEND=auto "SYSFS_PATH=$1/sys" "SIM_NIC=$1" "SIM_NIC_NETDEV=$2" "SIM_NIC_OPTIONS=${SIM_OPTIONS:-}"
}

# Adds a NIC to a host, for VERBS=1.
nic_up() { # host, network device
	mkdir -p "$TMP/nic.$1"
	chmod 777 "$TMP/nic.$1"
	sim_sysfs "$1" "$TMP/nic.$1/sys" "$2"
	eval "NIC_$1=$2"
}
# Sends a command to the NIC of each program on a host that has the NIC open (tests/sim/nic/control.c).
nic_control() { # host, command
	python3 - "$TMP/nic.$1" "$2" <<-'EOF'
		import glob, socket, sys
		for path in glob.glob(sys.argv[1] + "/control.*"):
		    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		    s.settimeout(10)
		    s.connect(path)
		    s.send(sys.argv[2].encode())
		    print(s.recv(4096).decode())
	EOF
}
