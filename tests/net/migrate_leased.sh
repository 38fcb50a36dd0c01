#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# migrate.sh by the daemon.
export LEASED=1
. "$(dirname "$0")/migrate.sh"
