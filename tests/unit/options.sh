#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Each option of each command is in its --help, its manual page and the completion for bash, and none is there that is not.
cd "$(dirname "$0")/../.." || exit 1
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
exec python3 tests/unit/options.py "${BUILD:-build}/sluice"
