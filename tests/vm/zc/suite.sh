#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs tests of net/, as they are, over real drivers: in zero-copy mode, in copy mode and by the kernel's sockets alone.
# VM_WAYS chooses among these ways (virtio:force igb:off ...), VM_SUITE among the tests, MODES the modes of each test,
# which compares with the kernel over the same NIC. A list at the end has the results of all ways: each must be `passed`
# or `skipped` (a test that needs a feature that QEMU's NICs lack says so).
VM_NICS="virtio igb"
VM_SECONDS=${VM_SECONDS:-20000}
VM_PASS="VM_WAYS VM_TEST_SECONDS MOST"
. "$(dirname "$0")/../lib.sh"
UDP="udp_basic udp_connect udp_gso udp_icmp udp_mmsg udp_mtu udp_opts udp_order udp_peers udp_pktinfo udp_rcvbuf udp_reuse
	udp_room udp_stamp udp_txstamp udp_wildcard"
TCP="tcp_accept tcp_burst tcp_close tcp_connect tcp_edges tcp_first tcp_oob tcp_options tcp_poll tcp_ports tcp_rebind tcp_restart
	tcp_sendfile tcp_stamp tcp_stream tcp_time tcp_txstamp tcp_unmet tcp_zerocopy"
ASKED=$SUITE_MODES
# Linux has virtio_net's zero-copy from 6.13 on, igb's from 6.14.
has_zerocopy() {
	case $VM_KERNEL in 5.10 | 6.1 | 6.12) return 1 ;; esac
}
results() { # way
	local f
	for f in "$BUILD"/logs/*.result; do
		f=${f##*/}
		echo "${f%.log.result} $1 $(cat "$BUILD/logs/$f")"
	done
}
# (Zero-copy is demanded: if it were not available, the test would find its packets in the kernel.)
ways() {
	local way
	for way in ${VM_WAYS:-virtio:force igb:force virtio:off igb:off virtio:kernel igb:kernel}; do
		case $way in
		*:kernel) SUITE_MODES=kernel ;;
		*:force) has_zerocopy || continue ;;&
		*) SUITE_MODES=$ASKED SLUICE_ZEROCOPY=${way#*:} ;;
		esac
		case $way in
		virtio:*) use 1 && unset SLUICE_FRAME_SIZE NIC_FEATURES ;;
		# Frames of 2,048 bytes are too small (igb.sh), and QEMU's igb does not segment datagrams, though it says so.
		igb:*) use 2 && export SLUICE_FRAME_SIZE=4096 NIC_FEATURES="tx-udp-segmentation off" ;;
		esac
		say "== $way"
		MODE=$way
		# shellcheck disable=SC2086
		suite $UDP $TCP
		results "$way" >>"$TMP/results"
	done
}
export SLUICE_ZEROCOPY
# (Both sides share the guest's only processor, so a side that polls takes time from the other.)
export SLUICE_RX_POLL=100 SLUICE_SELECT_POLL=20
TMP=$(mktemp -d)
ways
say "== Linux $(uname -r)"
awk '!($1 in of) { tests[++n] = $1 } { of[$1] = of[$1] sprintf(" %s %s", $2, $3) } END { for (i = 1; i <= n; i++) print tests[i] ":" of[tests[i]] }' "$TMP/results"
kernel_quiet
done_testing
