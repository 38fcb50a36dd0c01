#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program built with -D_FORTIFY_SOURCE=2 is offloaded, and its checks work.
. "$(dirname "$0")/lib.sh"
preload_test fortify 50
