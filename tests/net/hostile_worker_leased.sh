#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# hostile_worker.sh through the daemon, by which the worker has a part of the listener first.
LEASED=1
ATTACKS=${ATTACKS-letters.epoll options.epoll shut.epoll box.block}
. "$(dirname "$0")/hostile_worker.sh"
