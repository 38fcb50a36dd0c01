#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Operations on descriptors have the same effect as on the kernel.
. "$(dirname "$0")/lib.sh"
preload_test fd 40
