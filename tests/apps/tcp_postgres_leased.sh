#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# tcp_postgres.sh as a user without privileges, through the daemon: the children take their connections over.
LEASED=1
MODES=${MODES:-kernel server}
. "$(dirname "$0")/tcp_postgres.sh"
