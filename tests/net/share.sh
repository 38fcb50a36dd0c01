#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A group of processes on one queue: members are killed with -9 under traffic, the one beside them
# loses nothing, and at the end each frame is where it belongs.
. "$(dirname "$0")/lib.sh"
net_up -t
MODE=group
mkfifo "$TMP/go" "$TMP/end"
broker() { b "$BIN/share" broker "$DEV_B" "$B4" 7000 "${ROUNDS:-60}" <"$TMP/end" >"$TMP/broker"; }
broker &
BROKER=$!
exec 9>"$TMP/end"
# Waits until the broker says so, or has ended. (A loop that starts grep and sleep would use half a core meanwhile.)
said() { file_has "$TMP/broker" "$1" || gone "$BROKER"; }
wait_until 300 said ready && ! gone "$BROKER" || die "the broker ended: $(cat "$TMP/broker")"
a "$BIN/share" peer "$B4" 7000 <"$TMP/go" >"$TMP/peer" 9>&- &
PEER=$!
exec 8>"$TMP/go"
wait_until 300 said died && ! gone "$BROKER" || die "the broker ended: $(cat "$TMP/broker")"
exec 8>&-
ok "nothing of the living one's is lost" wait "$PEER"
exec 9>&-
ok "each frame is in its place" wait "$BROKER"
cat "$TMP/peer" "$TMP/broker"
done_testing
