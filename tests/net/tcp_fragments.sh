#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Segments that come in fragments (through a router with a smaller MTU, without DF) are the kernel's. Connections with
# checked bytes both ways are handed back to the kernel, whether the fragments begin later or have come from the start:
# no byte is wrong, and no connection is reset.
. "$(dirname "$0")/lib_tcp.sh"
net_up -w
. "$(dirname "$0")/lib_swarm.sh"
need "$BIN/wire"
[ "${MODES// /}" = both ] || MODES=${MODES/both/} # (behind the wire it does not matter which TCP made the segments)
SWARM_US=2500
in_fragments() { wire_up --fragment 600; }
finish() {
	end
	wire_down
	ok "$WHAT: $(wire_stat ab fragmented) came so" test "$(wire_stat ab fragmented)" -gt 100
}
for MODE in $MODES; do
	for how in "listen 4 server" "connect 6 client"; do
		read -r role fam name <<<"$how"
		WHAT="fragments begin, $name"
		wire_up
		begin $role $fam
		wire_down
		in_fragments
		# (Not all: some connections' peers send nothing more than a last byte.)
		ok "$WHAT: they go to the kernel" wait_until 10 has b $PORT -gt $((N / 2))
		finish
	done
	for how in "listen 6 server" "connect 4 client"; do
		read -r role fam name <<<"$how"
		WHAT="always in fragments, $name"
		in_fragments
		launch $role $fam
		ok "$WHAT: they go to the kernel" wait_until 10 has b $PORT -gt $((N / 2))
		finish
	done
done
done_testing
