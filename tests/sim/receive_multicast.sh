#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Multicast groups of the sockets, where rules of the (simulated) NIC bring the packets.
VERBS=1 RX=verbs
. "$(dirname "$0")/../net/multicast.sh"
