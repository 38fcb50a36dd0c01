#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The calls that are cancellation points are those of the C library, no more and no less.
. "$(dirname "$0")/lib.sh"
unsanitized "a sanitizer keeps its marks of a stack that a cancellation leaves"
preload_test cancel
