#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# VXLAN where rules of the (simulated) NIC bring the packets, by VNI and what is inside.
VERBS=1 RX=verbs
. "$(dirname "$0")/../net/vxlan_native.sh"
