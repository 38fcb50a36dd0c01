#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Landlock's rules for connect(2) hold for offloaded sockets, too.
. "$(dirname "$0")/lib.sh"
preload_test landlock 100
