#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# poll and select over offloaded sockets and others give what they give on the kernel.
. "$(dirname "$0")/lib.sh"
preload_test select
