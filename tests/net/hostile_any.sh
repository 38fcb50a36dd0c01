#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A worker, which has given up its privileges or not, writes by chance into all that its parent's library has left it, and
# leaves it as bad as it can, or holds the locks of all sockets that both have, or changes what its letters bring while
# the server reads them: the server goes on, and can start programs (SEED repeats a run).
ALONE=1
[ -n "${ATTACKS:-}" ] || ATTACKS="any.epoll"$([ -n "${SHORT:-}" ] || echo " same.block locks.epoll locks.block race.epoll race.block")
. "$(dirname "$0")/hostile_worker.sh"
