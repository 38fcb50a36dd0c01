#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# net/jumbo through the daemon, whose steering program is loaded before the lanes' frame size is known.
LEASED=1
. "$(dirname "$0")/jumbo.sh"
