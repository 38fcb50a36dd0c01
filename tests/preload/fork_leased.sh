#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# fork.sh as a user without privileges, through the daemon: children have lanes and a keeper of their own.
LEASED=1
. "$(dirname "$0")/fork.sh"
