#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Several threads on one socket or set, cancellation, closing under a waiting call.
. "$(dirname "$0")/lib.sh"
preload_test thread
