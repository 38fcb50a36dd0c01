#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A device is deleted and made again more often than there is room for devices in a process (32), in a lease (16)
# and in the daemon (64): their places are used again.
[ -n "${LEASED:-}" ] && most=70 || most=40
ROUNDS=${ROUNDS:-$most} ANSWERS=5 PAUSE=0.4
. "$(dirname "$0")/remade.sh"
