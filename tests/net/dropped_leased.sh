#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# dropped.sh through the daemon: the lease ends when the process gives up what it was at its greeting.
LEASED=1 LEASED_UID=1000 LEASED_CAPS=,+setuid,+setgid,+sys_chroot
CHANGES=${CHANGES-setuid setgroups capset chroot syscall}
. "$(dirname "$0")/dropped.sh"
