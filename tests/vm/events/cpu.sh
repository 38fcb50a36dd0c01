#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A processor is taken out and put back, VM_COUNT times, while a connection of two preloaded programs that spin
# carries bytes that are checked. Either of them, and the interrupts of its device, are bound to the processor
# that goes: the kernel moves them to the one that is left, where both spin then.
VM_NICS=${VM_NICS:-virtio} VM_CPUS=2 VM_COUNT=${VM_COUNT:-20} VM_SECONDS=${VM_SECONDS:-3000}
. "$(dirname "$0")/../lib.sh"
. "$VM_DIR/lib_events.sh"
CPU=/sys/devices/system/cpu/cpu1/online
bind_to_it() { # pid: binds all of its threads, and all interrupts that can be bound
	local irq
	taskset -acp 1 "$1" >/dev/null || return 1
	for irq in /proc/irq/*/smp_affinity; do echo 2 >"$irq"; done 2>/dev/null
}
# (The table of interrupts has a column for each processor: with one processor left there is no second one.)
processors() { head -n 1 /proc/interrupts | wc -w; }
without_one() { # round
	local who=$STREAM
	[ $(($1 % 2)) = 1 ] || who=$SERVER
	bind_to_it "$who" || return 1
	echo 0 >$CPU && [ "$(processors)" = 1 ] && moves && echo 1 >$CPU && [ "$(processors)" = 2 ]
}
use 1
net_up
SL_ENV=(SLUICE_FRAME_SIZE=4096 SLUICE_RX_POLL=-1 SLUICE_SELECT_POLL=-1)
SERVED_BY=sa
stream_begin
same "connections that the kernel has, of both" "0 0" "$(kernels) $(kernels a sport)"
rounds without_one
stream_end
same "connections that the kernel has" 0 "$(cut -d' ' -f2 "$TMP/stream")"
kernel_quiet
done_testing
