#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs that limit their addresses (RLIMIT_AS), or lock all their memory, work: the library's tables have no more
# addresses than memory, and its threads no arena of malloc(3).
. "$(dirname "$0")/lib_cases.sh"
unsanitized "a sanitizer's own addresses are terabytes"
unset SLUICE_MAX_FLOWS
echo_cases address_space.py child sessions arenas limited ${LOCK-lock}
done_testing
