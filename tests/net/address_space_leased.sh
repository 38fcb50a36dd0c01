#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# address_space.sh by the daemon.
LEASED=1 LOCK=
. "$(dirname "$0")/address_space.sh"
