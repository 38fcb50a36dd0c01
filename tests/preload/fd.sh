#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What is done to descriptors has the effect that it has on the kernel.
. "$(dirname "$0")/lib.sh"
preload_test fd 40
