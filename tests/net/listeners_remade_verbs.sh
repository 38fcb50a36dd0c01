#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The (simulated) NIC that connections came by is gone: none of them is lost.
VERBS=1 RX=verbs
. "$(dirname "$0")/listeners_remade.sh"
