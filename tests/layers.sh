#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Checks the order of the rooms, circles of files, the places of prototypes, and sizes: see layers.py, whose head has
# the order as data.
exec python3 "$(dirname "$0")/layers.py" "$@"
