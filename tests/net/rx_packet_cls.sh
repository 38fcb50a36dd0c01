#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# rx_packet.sh as on a kernel without tcx (before Linux 6.6): the steering program is a tc filter.
CLS=1
. "$(dirname "$0")/rx_packet.sh"
