#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# unreachable.sh through the daemon.
LEASED=1 LEASED_UID=1000 LEASED_CAPS=,+sys_chroot,+sys_admin
. "$(dirname "$0")/unreachable.sh"
