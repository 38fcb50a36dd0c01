#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Sockets that want some datagrams alone, of a user without privileges: the daemon checks what their claims are narrowed by.
LEASED=1
. "$(dirname "$0")/udp_steer.sh"
