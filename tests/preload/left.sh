#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Settings with which a socket becomes the kernel's have their effect there.
[ -z "${LEASED:-}" ] || export LEASED
. "$(dirname "$0")/lib.sh"
preload_test left 100
