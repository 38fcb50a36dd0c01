#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The calls that are cancellation points are those of the C library, no more and no less.
. "$(dirname "$0")/lib.sh"
case $BUILD in *san*) echo "skipped: a sanitizer keeps its marks of a stack that a cancellation leaves"; exit 77 ;; esac
preload_test cancel
