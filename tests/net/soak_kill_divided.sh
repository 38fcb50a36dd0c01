#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Members of two groups are killed on a NIC that is divided between them.
DIVIDED=1
. "$(dirname "$0")/soak_kill.sh"
