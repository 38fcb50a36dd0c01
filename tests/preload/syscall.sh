#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Calls by syscall(2) have the same effect as on the kernel.
. "$(dirname "$0")/lib.sh"
preload_test syscall 40
