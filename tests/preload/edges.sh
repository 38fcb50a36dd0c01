#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Odd arguments of send and receive calls: the kernel's errors, in the kernel's order.
. "$(dirname "$0")/lib.sh"
case $BUILD in *san*) echo "skipped: a sanitizer handles SIGSEGV itself"; exit 77 ;; esac
preload_test edges 60
