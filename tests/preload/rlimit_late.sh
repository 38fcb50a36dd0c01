#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# rlimit.sh with devices that are opened behind the program: what the kernel's sockets had got by then is told of.
export SLUICE_START=background
. "$(dirname "$0")/rlimit.sh"
