#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tcp_ways.sh's connections that begin with Fast Open, over an offloaded device of MTU 9,000, the other's being 1,500.
export NET_MTU=9000
MODES=one ONLY=fast_open
. "$(dirname "$0")/tcp_ways.sh"
