#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs of calls that any_calls.py leaves out, drawn by a seed (any_more.py), compared as any_calls.sh does it.
SUBJECT=any_more.py PEER=any_more.py FIRST=${FIRST:-1} SEEDS=${SEEDS:-6}
. "$(dirname "$0")/any_calls.sh"
