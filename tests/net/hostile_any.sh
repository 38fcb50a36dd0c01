#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A worker, which has given up its privileges or not, writes by chance into all that its parent's library has left it, and
# leaves it as bad as it can: the server goes on, and can start programs (SEED repeats a run).
ATTACKS=${ATTACKS-any.epoll same.block}
. "$(dirname "$0")/hostile_worker.sh"
