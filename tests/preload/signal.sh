#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Signals end waiting calls, or do not, as on the kernel.
. "$(dirname "$0")/lib.sh"
preload_test signal
