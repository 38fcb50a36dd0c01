#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Sockets that the C library itself uses (stdio on 0, 1, 2, aio) are the kernel's by then.
. "$(dirname "$0")/lib.sh"
# (All cases but one end with sockets of the kernel, so 100 % of the datagrams may come through the kernel.)
preload_test stdio 100
