#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# close_range(2), posix_spawn(3) and dup2(2) of a process with few sockets do not read the library's whole table of
# numbers: the process's memory stays what it was.
. "$(dirname "$0")/lib_cases.sh"
unsanitized "a sanitizer's memory grows with each call"
echo_cases few_numbers.py close_range spawn dup2
done_testing
