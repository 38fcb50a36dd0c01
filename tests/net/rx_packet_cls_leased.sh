#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# rx_packet_cls.sh as a user without privileges, through the daemon.
CLS=1
LEASED=1
. "$(dirname "$0")/rx_packet.sh"
