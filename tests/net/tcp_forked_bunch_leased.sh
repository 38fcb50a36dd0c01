#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tcp_forked_bunch.sh with programs that have no privileges, by the daemon.
LEASED=1
. "$(dirname "$0")/tcp_forked_bunch.sh"
