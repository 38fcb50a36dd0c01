#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# pace_rules.sh as a user without privileges, through the daemon: the rates are in the daemon's map.
LEASED=1
. "$(dirname "$0")/pace_rules.sh"
