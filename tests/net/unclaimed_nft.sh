#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# unclaimed.sh with the guard that a kernel before Linux 6.4 has, of nf_tables; by the daemon.
LEASED=1
export SLUICE_GUARD_NFT=1
MODES=one
. "$(dirname "$0")/unclaimed.sh"
