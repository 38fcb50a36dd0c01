#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Boots a guest, runs a script in it as root, and exits with the script's status.
#
#   tests/vm/lib_boot.sh SCRIPT [ARGS...]
#
# The guest's root is this machine's, read-only over 9p and under an overlay in memory: programs that are
# built here run there, and nothing that they write stays. The guest is emulated (without KVM). Its clock
# counts its instructions, two nanoseconds each, and jumps to the next timer when all sleep (icount): so a
# program in it cannot see how slow the emulation or how busy the machine is. The guest's processors take
# turns on one processor of the machine. Settings are in the environment:
#
#   VM_KERNEL   6.18            as lib_fetch.sh names them        VM_CPUS   1
#   VM_NICS     ""              pairs of NICs, see nic_pair   VM_MEM    1024 (MB)
#   VM_SECONDS  900             a guest that takes longer is killed, and one that does not boot in 400
#   VM_CACHE    ~/.cache/sluice-vm                        VM_NICE   5
#   VM_PASS     ""              names of further variables for the script
#   VM_QEMU     ""              further arguments of QEMU (-object filter-dump,id=d,netdev=n1_2,file=/tmp/wire.pcap)
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
VM_CACHE=${VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sluice-vm}
export VM_CACHE
KERNEL=$VM_CACHE/kernel/${VM_KERNEL:=6.18}
QEMU=$VM_CACHE/qemu
BOOT_SECONDS=400

"$HERE/lib_fetch.sh" qemu && "$HERE/lib_fetch.sh" kernel "$VM_KERNEL" || exit
RELEASE=$(cat "$KERNEL/release")
W=$(mktemp -d "${TMPDIR:-/tmp}/sluice-vm.XXXXXX") || exit 2
QEMU_PID=
at_exit() {
	trap - EXIT INT TERM HUP
	[ -z "$QEMU_PID" ] || kill -9 "$QEMU_PID" 2>/dev/null
	rm -rf "$W"
}
trap at_exit EXIT
trap 'exit 130' INT TERM HUP

# Adds a pair of NICs, back to back, with addresses 02:00:00:00:NN:01 and :02, where NN is the pair's number.
# The spec is MODEL[:OPTION,...]: virtio or igb, and QEMU's options of the device. virtio-QUEUES has several
# queues; such a pair is joined by TAPs on a bridge, in a network namespace of QEMU's own. failover: the second NIC is a
# virtio_net with a standby's feature, and nN_p, an e1000e with the same address on the same wire, its primary.
DEVICES=()
TAPS=()
nic_pair() { # number spec
	local n=$1 model=${2%%:*} options= queues=1 i id mac
	[ "${2#*:}" = "$2" ] || options=,${2#*:}
	case $model in virtio-*) queues=${model#virtio-} model=virtio ;; esac
	for i in 1 2; do
		id=n${n}_$i mac=02:00:00:00:$(printf %02x "$n"):0$i
		DEVICES+=(-device "pcie-root-port,id=port$id,chassis=$((n * 2 + i)),slot=$((n * 2 + i))")
		if [ "$queues" = 1 ]; then
			DEVICES+=(-netdev "hubport,hubid=$n,id=$id")
		else
			TAPS+=("t$n.$i")
			DEVICES+=(-netdev "tap,id=$id,ifname=t$n.$i,script=no,downscript=no,queues=$queues")
		fi
		case $model in
		failover)
			DEVICES+=(-device "$(virtio_device "$id" "$mac" 1)$([ $i = 1 ] || echo ,failover=on)")
			[ $i = 1 ] || primary "$n" "$mac"
			;;
		virtio) DEVICES+=(-device "$(virtio_device "$id" "$mac" "$queues")$options") ;;
		igb) DEVICES+=(-device "igb,id=$id,bus=port$id,netdev=$id,mac=$mac,romfile=$options") ;;
		*) echo "lib_boot.sh: no NIC $model" >&2 && exit 2 ;;
		esac
	done
}
primary() { # number mac: the primary of that pair's second NIC
	DEVICES+=(-device "pcie-root-port,id=portp$1,chassis=$((100 + $1)),slot=$((100 + $1))" -netdev "hubport,hubid=$1,id=n$1_p"
		-device "e1000e,id=n$1_p,bus=portp$1,netdev=n$1_p,mac=$2,romfile=,failover_pair_id=n$1_2")
}
# (Without iommu_platform there is no zero-copy. A packet leaves 20 us after it was sent, by the guest's clock. By
# default a thread of QEMU sends it when the thread gets to run; if all sleep in the guest meanwhile, the clock jumps
# from timer to timer, and the guest retransmits.)
virtio_device() { # id mac queues
	local more=
	[ "$3" = 1 ] || more=,mq=on,vectors=$(($3 * 2 + 2))
	echo "virtio-net-pci,id=$1,bus=port$1,netdev=$1,mac=$2,romfile=,iommu_platform=on,disable-legacy=on,ioeventfd=off,tx=timer,x-txtimer=20000$more"
}

# Builds the initrd: its init makes the root and switches to it.
initrd() {
	local m
	mkdir -p "$W/i"/{bin,m,proc,sys,dev,low,rw,root}
	cp "$QEMU/bin/busybox" "$W/i/bin/"
	for m in 9pnet_virtio 9p virtio_pci overlay; do
		(exec -a modprobe "$QEMU/bin/kmod" -d "$KERNEL" -S "$RELEASE" -D "$m") 2>/dev/null
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | {
		local n=10
		while read -r m; do
			case $m in
			*.xz) xz -dc "$m" ;;
			*.zst) zstd -dcq "$m" ;;
			*) cat "$m" ;;
			esac >"$W/i/m/$n.ko"
			n=$((n + 1))
		done
	}
	cp "$HERE/init" "$W/i/init"
	"$HERE/lib_near.sh" "${BUILD:-$HERE/../../build}" >"$W/i/near"
	{
		echo "VM_MODULES=/host$KERNEL/lib/modules/$RELEASE VM_KMOD=/host$QEMU/bin/kmod"
		echo "cd '$PWD'; set -- $(printf '%q ' "$@")"
		printf 'export VM_DEVICES=%q\n' "$(printf '%s\n' "${DEVICES[@]}" | grep ',netdev=')"
		echo "export VM_GUEST=1 VM_KERNEL='$VM_KERNEL' HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin"
		for m in BUILD MODES FAMILIES ${VM_PASS:-}; do
			[ -z "${!m:-}" ] || printf 'export %s=%q\n' "$m" "${!m}"
		done
		cat "$HERE/start"
	} >"$W/i/start"
	(cd "$W/i" && find . | "$QEMU/bin/busybox" cpio -o -H newc -R 0:0 2>/dev/null) >"$W/initrd"
}

case ${1:-} in '') sed -n '/^#   /s/^#   //p' "$0" && exit 2 ;; esac
N=0
for nic in ${VM_NICS:-}; do
	N=$((N + 1))
	nic_pair $N "$nic"
done
initrd "$@"
# While a guest waits for its files from the machine, its clock would jump from timer to timer, by seconds each, and a
# test's timeout would be over before a program had started. So QEMU has a timer of its own every millisecond of the
# guest's clock (on a wire without NICs).
TICKS=(-netdev "hubport,hubid=99,id=tick" -object "filter-buffer,id=ticks,netdev=tick,interval=1000")
# shellcheck disable=SC2206
ARGS=(-machine q35 -accel tcg,thread=single -icount shift=1,sleep=off -cpu Nehalem -smp "${VM_CPUS:-1}" -m "${VM_MEM:-1024}"
	-nodefaults -display none -no-reboot -kernel "$KERNEL/vmlinuz" -initrd "$W/initrd"
	-append "console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off random.trust_cpu=on net.ifnames=0 nokaslr audit=0 no_timer_check cryptomgr.notests nowatchdog rcupdate.rcu_cpu_stall_suppress=1 ${VM_APPEND:-}"
	-virtfs "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"
	-serial stdio -chardev "socket,id=qmp,path=$W/qmp,server=on,wait=off" -mon chardev=qmp,mode=control
	-chardev "socket,id=guest,path=$W/qmp" -device virtio-serial-pci,disable-legacy=on
	-device virtserialport,chardev=guest,name=qmp -L "$QEMU/usr/share/qemu" -L "$QEMU/usr/share/seabios"
	"${TICKS[@]}" "${DEVICES[@]}" ${VM_QEMU:-})
BEFORE=(env "LD_LIBRARY_PATH=$QEMU/lib/x86_64-linux-gnu:$QEMU/usr/lib/x86_64-linux-gnu"
	"QEMU_MODULE_DIR=$QEMU/usr/lib/x86_64-linux-gnu/qemu")
if [ ${#TAPS[@]} -gt 0 ]; then # each pair has a bridge of its own
	BEFORE=(unshare -n bash -c 'for t in '"${TAPS[*]}"'; do
		ip tuntap add $t mode tap multi_queue vnet_hdr && ip link set $t up mtu 9000; b=${t%.*}b
		ip link add $b type bridge mcast_snooping 0 2>/dev/null; ip link set $b up mtu 9000; ip link set $t master $b; done
		exec "$@"' bash "${BEFORE[@]}")
fi

: >"$W/console"
nice -n "${VM_NICE:-5}" "${BEFORE[@]}" "$QEMU/usr/bin/qemu-system-x86_64" "${ARGS[@]}" </dev/null >"$W/console" 2>&1 &
QEMU_PID=$!
tail -n +1 -s 0.2 --pid="$QEMU_PID" -f "$W/console" | stdbuf -oL tr -d '\r' | grep --line-buffered -Ev 'is not connected to host network|has no peer' &
TAIL_PID=$!
BEGAN=$SECONDS
UP=
while kill -0 "$QEMU_PID" 2>/dev/null; do
	sleep 0.5
	[ -n "$UP" ] || ! grep -q '^vm: Linux' "$W/console" || UP=1
	[ -n "$UP" ] || [ $((SECONDS - BEGAN)) -lt $BOOT_SECONDS ] || { echo "vm: does not boot" && kill -9 "$QEMU_PID" && break; }
	[ $((SECONDS - BEGAN)) -lt "${VM_SECONDS:-900}" ] || { echo "vm: ended after ${VM_SECONDS:-900} s" && kill -9 "$QEMU_PID" && break; }
done
wait "$QEMU_PID" "$TAIL_PID" 2>/dev/null
STATUS=$(tr -d '\r' <"$W/console" | sed -n 's/^vm: exit \([0-9]*\)$/\1/p' | tail -n 1)
exit "${STATUS:-99}"
