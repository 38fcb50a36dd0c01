#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tcp_policy.sh with the guard that a kernel before Linux 6.4 has, of nf_tables.
export SLUICE_GUARD_NFT=1
MODES=one
. "$(dirname "$0")/tcp_policy.sh"
