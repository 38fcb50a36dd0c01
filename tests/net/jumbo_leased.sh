#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# net/jumbo by the daemon, where the steering program is there before it is known what frames the lanes will have.
LEASED=1
. "$(dirname "$0")/jumbo.sh"
