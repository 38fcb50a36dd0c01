#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Sockets that the C library itself uses (stdio on 0, 1, 2, aio) are the kernel's by then.
. "$(dirname "$0")/lib.sh"
# The sockets of all cases but one are the kernel's: by what the peers got, 100 % of the datagrams.
preload_test stdio 100
