#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# moved_away.sh by the daemon.
LEASED=1
. "$(dirname "$0")/moved_away.sh"
