#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# New processes and passed descriptors: both sides go on as on the kernel.
. "$(dirname "$0")/lib.sh"
preload_test fork 80
