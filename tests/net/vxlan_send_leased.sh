#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# vxlan_send.sh for programs without privileges: what only the kernel's device can send the daemon has it send.
LEASED=1 MODES=${MODES:-kernel one}
. "$(dirname "$0")/vxlan_send.sh"
