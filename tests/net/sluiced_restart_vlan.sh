#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# sluiced_restart.sh on a VLAN device, whose number the next daemon keeps.
VLANS=5 KILLS=${KILLS:-1}
. "$(dirname "$0")/sluiced_restart.sh"
