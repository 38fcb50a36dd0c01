#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SO_MAX_PACING_RATE of TCP sockets, as in pace_udp.sh: the rate counts whole frames.
. "$(dirname "$0")/lib.sh"
. "$TESTS/net/lib_pace.sh"
net_up
MODE=software
paced 10 130 1514 1000 tcp
paced 10 1600 1514 20000 tcp
paced 10 10000 1514 200000 tcp
paced 10 50000 1514 1000000 tcp
paced 10 800 1514 20000 tcp burst=15000
say "64 sockets"
paced 20 200 1514 "$(seq -s, 1000 20 2260)" tcp poll
say "changes under way"
changed 800 1514 "20000 tcp then=60000"
changed 800 1514 "1000000 tcp then=20000"
changed 100 1514 "1000 tcp then=0"
done_testing
