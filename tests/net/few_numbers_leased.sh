#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# few_numbers.sh by the daemon.
LEASED=1
. "$(dirname "$0")/few_numbers.sh"
