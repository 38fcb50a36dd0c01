#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# accept(2), dup(2) and others in a process at its limit of descriptors, with a queue of the (simulated) NIC to receive by.
VERBS=1 RX=verbs
. "$(dirname "$0")/tcp_full.sh"
