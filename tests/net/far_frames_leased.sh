#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# far_frames.sh through a daemon whose devices come by packet sockets: the group's bounce frames carry what is sent from
# frames that are not registered. (The policy lets a program hold more than there are registered ones.)
export RX=packet
FAMILIES=4 POLICY="allow user * frames 8192"
. "$(dirname "$0")/far_frames.sh"
