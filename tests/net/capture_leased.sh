#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# capture.sh for programs without privileges, which a daemon serves.
LEASED=1
. "$(dirname "$0")/capture.sh"
