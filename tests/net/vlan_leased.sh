#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# vlan.sh for programs without privileges, whose VLAN devices the daemon numbers.
LEASED=1 MODES=${MODES:-one}
. "$(dirname "$0")/vlan.sh"
