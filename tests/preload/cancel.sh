#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The calls that are cancellation points are those of the C library, no more and no less.
. "$(dirname "$0")/lib.sh"
preload_test cancel
