#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A thread that is cancelled asynchronously leaves no lock of the library behind.
. "$(dirname "$0")/lib.sh"
unsanitized "a sanitizer keeps its marks of a stack that a cancellation leaves"
preload_test cancel_async
