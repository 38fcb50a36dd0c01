#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Sockets by io_uring: the kernel uses the program's connections, not the empty sockets behind ours.
. "$(dirname "$0")/lib.sh"
preload_test uring 100
