#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# net/tcp_early by the daemon, where the workers have parts of their own.
LEASED=1
. "$(dirname "$0")/tcp_early.sh"
