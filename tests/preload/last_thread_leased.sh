#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# preload/last_thread, by the daemon.
LEASED=1 . "$(dirname "$0")/last_thread.sh"
