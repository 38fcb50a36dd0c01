#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# link_back.sh by the daemon.
LEASED=1
. "$(dirname "$0")/link_back.sh"
