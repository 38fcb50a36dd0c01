#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tcp_early.sh through the daemon, where each worker has its own part of the listener.
LEASED=1
. "$(dirname "$0")/tcp_early.sh"
