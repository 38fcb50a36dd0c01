#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Each bit of the flags of send and receive calls means what it means to the kernel.
. "$(dirname "$0")/lib.sh"
preload_test flags 70
