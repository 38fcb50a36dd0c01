#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Bad addresses are EFAULT, as on the kernel, and the program's handlers of SIGSEGV are its own.
. "$(dirname "$0")/lib.sh"
unsanitized "a sanitizer handles these signals itself"
preload_test efault 60
