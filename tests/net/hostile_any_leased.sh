#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# hostile_any.sh through the daemon, by which the worker has a part of the listener first.
LEASED=1
. "$(dirname "$0")/hostile_any.sh"
