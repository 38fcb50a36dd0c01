#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# vxlan_native.sh for programs without privileges, for which the daemon has the device below.
LEASED=1 MODES=${MODES:-one}
. "$(dirname "$0")/vxlan_native.sh"
