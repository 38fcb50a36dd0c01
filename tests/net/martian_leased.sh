#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# martian.sh through the daemon: a program without privileges refuses the same frames.
LEASED=1
. "$(dirname "$0")/martian.sh"
