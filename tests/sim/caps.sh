#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# rdma-core's own ibv_devinfo reports the simulated NIC as it is configured.
. "$(dirname "$0")/lib.sh"
sim_need
net_up

has() { grep -qE "^[[:space:]]*$1[[:space:]]*$" "$TMP/devinfo"; }
info() { # options
	sim_up "$1"
	sim ibv_devinfo -v >"$TMP/devinfo" 2>"$TMP/err" || fail "ibv_devinfo -v ($1): $(cat "$TMP/err")"
}

info ""
ok "its name says what it is" has 'hca_id:[[:space:]]*simulated0'
ok "its board says what it is" has 'board_id:[[:space:]]*SIMULATED'
ok "its banner says what it is" grep -q 'nothing here is hardware' "$TMP/err"
ok "Ethernet" has 'link_layer:[[:space:]]*Ethernet'
ok "the port is up" has 'state:[[:space:]]*PORT_ACTIVE \(4\)'
ok "raw packets" has RAW_IP_CSUM
ok "TSO" has 'max_tso:[[:space:]]*262144'
ok "slowest rate" has 'qp_rate_limit_min:[[:space:]]*1kbps'
ok "fastest rate" has 'qp_rate_limit_max:[[:space:]]*100000000kbps'
ok "device memory" has 'maximum available device memory:[[:space:]]*131072Bytes'
ok "clock" has 'hca_core_clock:[[:space:]]*156250kHZ'

# Checks that `sluice doctor` says the same of the device.
field() { sed -nE "s/^[[:space:]]*$1[[:space:]]*([0-9]+).*/\\1/p" "$TMP/devinfo" | head -1; }
doctor() { sim "$BUILD/sluice" doctor "$DEV_A" >"$TMP/doctor" 2>/dev/null; }
says() { grep -qE "^  (ok|note) +$1" "$TMP/doctor"; }
agree() {
	doctor
	ok "sluice doctor agrees$1: the device" says "RDMA device $(sed -n 's/^hca_id:[[:space:]]*//p' "$TMP/devinfo"), firmware $(sed -nE 's/.*fw_ver:[[:space:]]*//p' "$TMP/devinfo"): raw-packet"
	ok "sluice doctor agrees$1: pacing" says "pacing from $(field 'qp_rate_limit_min:') to $(field 'qp_rate_limit_max:') kbit/s"
	ok "sluice doctor agrees$1: device memory" says "$(field 'maximum available device memory:') bytes of device memory"
	ok "sluice doctor agrees$1: the clock" says "time stamps of what was sent, by a clock of $(field 'hca_core_clock:') kHz"
}
agree ""
ok "sluice doctor agrees: TSO" says "segmentation of up to $(field 'max_tso:') bytes"
ok "sluice doctor agrees: checksums" says "checksums of what is sent"

info "tso=0,dm=4096,rate_min=7,rate_max=9000,clock_khz=1000000"
ok "no TSO" has 'max_tso:[[:space:]]*0'
ok "other slowest rate" has 'qp_rate_limit_min:[[:space:]]*7kbps'
ok "other fastest rate" has 'qp_rate_limit_max:[[:space:]]*9000kbps'
ok "less device memory" has 'maximum available device memory:[[:space:]]*4096Bytes'
ok "other clock" has 'hca_core_clock:[[:space:]]*1000000kHZ'
agree " of another NIC"
ok "sluice doctor agrees: no TSO" says "no segmentation"

a ip link set "$DEV_A" down
info ""
ok "a cable that is out" has 'state:[[:space:]]*PORT_DOWN \(1\)'
a ip link set "$DEV_A" up

sim_up 'min_inline=7'
no_device() { sim ibv_devinfo 2>&1 | grep -q 'No IB devices found\|SIM_NIC_OPTIONS is wrong'; }
ok "nonsense is no device" no_device
done_testing
