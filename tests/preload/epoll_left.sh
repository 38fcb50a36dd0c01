#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A socket that goes to the kernel with something unread stays one member of its epoll sets.
. "$(dirname "$0")/lib.sh"
preload_test epoll_left 30
