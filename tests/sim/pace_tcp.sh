#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SO_MAX_PACING_RATE of TCP sockets by the (simulated) NIC, measured by an independent receiver: rates, and many at
# once. (A NIC makes up for nothing: when the library is kept from running there are gaps.)
. "$(dirname "$0")/lib_pace.sh"
. "$TESTS/net/lib_pace.sh"
PACE_TRIES=${SHORT:+2}
PACE_TRIES=${PACE_TRIES:-3}

by_nic() {
	paced "$@"
	ok "${4%%,*} ${*:5}: no wheel" not logged 'wheel'
}
by_nic 10 130 1514 1000 tcp
by_nic 10 1600 1514 20000 tcp
by_nic 10 10000 1514 200000 tcp
by_nic 10 30000 1514 1000000 tcp
by_nic 10 800 1514 20000 tcp burst=15000
SIM_OPTIONS=rates=127
by_nic 20 300 1514 "2000,3000,4500,7000,9000,12000,16000,20000" tcp poll
say "64 sockets"
by_nic 20 200 1514 "$(seq -s, 1000 20 2260)" tcp poll
done_testing
