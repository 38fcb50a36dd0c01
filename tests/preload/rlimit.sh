#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# RLIMIT_NOFILE lowered below the descriptors that are open: calls wait and end as on the kernel.
. "$(dirname "$0")/lib.sh"
preload_test rlimit
