#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# left.sh as a user without privileges, through the daemon: a connection that is handed back has another file.
LEASED=1
. "$(dirname "$0")/left.sh"
