#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Sockets and rules narrowed by DSCP and flow label, where rules of the (simulated) NIC bring the packets.
VERBS=1 RX=verbs
. "$(dirname "$0")/../net/udp_steer.sh"
