#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs of any waits for sockets and other files, drawn by a seed (any_polls.py), compared as any_calls.sh does it.
SUBJECT=any_polls.py FIRST=${FIRST:-1} SEEDS=${SEEDS:-6}
export SLUICE_SELECT_SKIP_OS=0
. "$(dirname "$0")/any_calls.sh"
