#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# vma_api.sh as a user without privileges, through the daemon.
LEASED=1
. "$(dirname "$0")/vma_api.sh"
