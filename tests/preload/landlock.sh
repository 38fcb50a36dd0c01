#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What Landlock forbids in connect(2) is forbidden to offloaded sockets, too.
. "$(dirname "$0")/lib.sh"
preload_test landlock 100
