#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tcp_ctl.sh by the daemon, whose programs have handshakes and timers of their own.
LEASED=1
. "$(dirname "$0")/tcp_ctl.sh"
