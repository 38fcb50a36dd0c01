#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# last_thread.sh as a user without privileges, through the daemon.
LEASED=1
. "$(dirname "$0")/last_thread.sh"
