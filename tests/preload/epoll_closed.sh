#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A thread goes on waiting for an epoll set that another thread closes.
. "$(dirname "$0")/lib.sh"
preload_test epoll_closed
