#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What the simulated NIC is set to be is what rdma-core's own ibv_devinfo says of it.
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

info "tso=0,dm=4096,rate_min=7,rate_max=9000,clock_khz=1000000"
ok "no TSO" has 'max_tso:[[:space:]]*0'
ok "other slowest rate" has 'qp_rate_limit_min:[[:space:]]*7kbps'
ok "other fastest rate" has 'qp_rate_limit_max:[[:space:]]*9000kbps'
ok "less device memory" has 'maximum available device memory:[[:space:]]*4096Bytes'
ok "other clock" has 'hca_core_clock:[[:space:]]*1000000kHZ'

a ip link set "$DEV_A" down
info ""
ok "a cable that is out" has 'state:[[:space:]]*PORT_DOWN \(1\)'
a ip link set "$DEV_A" up

sim_up 'min_inline=7'
no_device() { sim ibv_devinfo 2>&1 | grep -q 'No IB devices found\|SIM_NIC_OPTIONS is wrong'; }
ok "nonsense is no device" no_device
done_testing
