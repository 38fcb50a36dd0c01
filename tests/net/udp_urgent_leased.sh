#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Urgent datagrams have a lane of their own, of a user without privileges.
LEASED=1
. "$(dirname "$0")/udp_urgent.sh"
