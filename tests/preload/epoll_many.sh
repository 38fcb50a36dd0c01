#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Epoll sets with several threads and many sockets give what they give on the kernel.
. "$(dirname "$0")/lib.sh"
preload_test epoll_many
