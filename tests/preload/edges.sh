#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Odd arguments of send and receive calls: the kernel's errors, in the kernel's order.
. "$(dirname "$0")/lib.sh"
unsanitized "a sanitizer handles SIGSEGV itself"
preload_test edges 60
