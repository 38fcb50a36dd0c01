#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The kernel gets the program's connection by its number (a sockmap, a block device), not an empty socket.
. "$(dirname "$0")/lib.sh"
preload_test pass 100
