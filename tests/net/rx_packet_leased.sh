#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# rx_packet.sh as a user without privileges, through the daemon, which makes the private devices and lends the sockets.
LEASED=1
. "$(dirname "$0")/rx_packet.sh"
