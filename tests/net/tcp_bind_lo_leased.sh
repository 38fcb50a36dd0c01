#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tcp_bind_lo.sh as a user without privileges, who cannot unbind a socket: the daemon makes the kernel's connection.
LEASED=1
. "$(dirname "$0")/tcp_bind_lo.sh"
