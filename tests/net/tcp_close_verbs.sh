#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# How connections end, in every order, with a queue of the (simulated) NIC to receive by.
VERBS=1 RX=verbs
. "$(dirname "$0")/tcp_close.sh"
