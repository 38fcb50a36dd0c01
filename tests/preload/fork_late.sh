#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# New processes of a program whose sockets the kernel serves until their device is open.
export SLUICE_START=background
. "$(dirname "$0")/fork.sh"
