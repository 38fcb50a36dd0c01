#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# any_calls.sh as a user without privileges, through the daemon.
LEASED=1 FIRST=${FIRST:-600} SEEDS=${SEEDS:-8}
. "$(dirname "$0")/any_calls.sh"
