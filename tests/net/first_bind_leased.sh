#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The first sockets of a user without privileges, which the kernel serves until the daemon has opened the device.
LEASED=1
. "$(dirname "$0")/first_bind.sh"
