#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# With a lane for each thread a socket moves to the lane of the thread that receives from it
# (RING_MIGRATION_RATIO_RX), or, if none does, sends (RING_MIGRATION_RATIO_TX);
# nothing is lost or overtaken meanwhile.
. "$(dirname "$0")/lib.sh"
[ -z "${VERBS:-}" ] || skip "no socket moves between queues of a NIC (sluice-connectx(7))"
settings_up
bg a python3 "$TESTS/net/migrate.py" serve "$A4" 7001
bg a python3 "$TESTS/net/migrate.py" relay "$A4" 7002
wait_udp a 7001
wait_udp a 7002

run() { # expected, what, settings...
	local expected=$1 what=$2
	shift 2
	SL_ENV=("SLUICE_STATS_SHMEM_DIR=$TMP" "$@")
	same "$what $*" "$expected" "$(sb python3 "$TESTS/net/migrate.py" "$what" "$B4" "$A4" 7000 "$BUILD/sluice")"
}
run "1 lane of 3 sockets, then 3 lanes, 3 moves, 3 shown, 3 with its thread" spread SLUICE_RING=thread
run "12000 of 12000 datagrams, 0 out of order, many moves" order SLUICE_RING=thread
[ "$(nproc)" -lt 2 ] || run "12000 of 12000 datagrams, 0 out of order, many moves" order SLUICE_RING=core
run "12000 of 12000 datagrams, 0 out of order, many moves" epoll SLUICE_RING=thread
run "12000 of 12000 datagrams, 0 out of order, 0 moves" order SLUICE_RING=thread SLUICE_RING_MIGRATION_RATIO_RX=-1
run "12000 of 12000 datagrams, 0 out of order, many moves" group SLUICE_RING=thread
run "12000 of 12000 datagrams, 0 out of order, 0 moves" two SLUICE_RING=thread
run "7200 datagrams, in order: True, many moves to send, 0 to receive" sender SLUICE_RING=thread
run "7200 datagrams, in order: True, 0 moves to send, 0 to receive" sender SLUICE_RING=thread SLUICE_RING_MIGRATION_RATIO_TX=-1
run "0 moves" chosen SLUICE_RING=thread
run "few lanes" ended SLUICE_RING=thread
done_testing
