#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The library's thread is not in the way of unshare(2), setns(2) and close_range(2), and keeps no descriptor open.
. "$(dirname "$0")/lib.sh"
preload_test unshare 100
