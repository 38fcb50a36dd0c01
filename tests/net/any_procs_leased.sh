#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# any_procs.sh as a user without privileges, through the daemon.
export LEASED=1
SEEDS=${SEEDS:-201 202 207}
. "$(dirname "$0")/any_procs.sh"
