#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# igb's own clock: transmit stamps of the hardware come back by SO_TIMESTAMPING, of datagrams and of a connection,
# in zero-copy mode and in copy mode, between two looks at the clock that made them, also after it was set; and they fit
# to the system's clock by what the two say of each other.
VM_NICS=igb
. "$(dirname "$0")/../lib.sh"
need python3
use 1
net_up
bg a python3 "$VM_DIR/phc.py" echo "$A4" 7001
wait_tcp a 7001
for how in kernel force off; do
	MODE=one
	[ $how = kernel ] && MODE=kernel
	SL_ENV=(SLUICE_FRAME_SIZE=4096 "SLUICE_ZEROCOPY=$how")
	wait_until 20 eval 'b ip -o link show dev "$DEV_B" | grep -q LOWER_UP'
	say "== $how"
	differ phc pb python3 "$VM_DIR/phc.py" ask "$B4" "$A4" 7001 "$DEV_B"
	[ $how != kernel ] || { cat "$TMP/oracle.phc"; same "the kernel's run" 7 "$(grep -cE '\) *$| (20|5)$' "$TMP/oracle.phc")"; }
done
grep -h 'port:\|stamp' "$TMP"/sluice.*.log
kernel_quiet
done_testing
