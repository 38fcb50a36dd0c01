#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs that send with control data, drawn by a seed (any_control.py), compared as any_calls.sh does it.
SUBJECT=any_control.py PEER=any_more.py FIRST=${FIRST:-1} SEEDS=${SEEDS:-6}
. "$(dirname "$0")/any_calls.sh"
