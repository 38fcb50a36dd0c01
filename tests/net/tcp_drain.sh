#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A listener goes to the kernel: by a rule, or since another process has it. Connections that wait in its queue are
# served, those in the handshake are not reset, and new ones are the kernel's at once.
. "$(dirname "$0")/lib_tcp.sh"
net_up
need python3
need_built
SLUICE=$BUILD/sluice
PORT=7200

# A new connection came by b's kernel.
kernel_accepts() {
	a timeout 2 bash -c ": <>/dev/tcp/$B4/$PORT" 2>/dev/null
	[ "$(tcp_stat b PassiveOpens)" -gt "$BEFORE" ]
}
to_kernel() { ok "$WHAT: a rule is added" b "$SLUICE" rule add --device "$DEV_B" use os tcp_server '*:*'; }
to_us() { ok "$WHAT: it is removed" b "$SLUICE" rule del --device "$DEV_B" 1; }

for MODE in $MODES; do
	meet
	hows="rule spawn fork pass" fams="4 6"
	[ "$MODE" = one ] || fams=6
	[ "$MODE" = both ] && hows=rule # it is b's listener in any case
	for how in $hows; do
		WHAT="queued, $how"
		PORT=$((PORT + 1))
		bg pb python3 "$TESTS/net/tcp_queued.py" server "$B4" $PORT "$TMP/go" $how
		OTHER=$BG
		wait_tcp b $PORT
		bg pa python3 "$TESTS/net/tcp_queued.py" client "$B4" $PORT >"$TMP/a" 2>&1
		SUBJECT=$BG
		wait_line "$TMP/a" waiting
		BEFORE=$(tcp_stat b PassiveOpens)
		if [ "$MODE" != kernel ] && [ $how = rule ]; then
			to_kernel
			ok "$WHAT: newcomers are the kernel's at once" wait_until 10 kernel_accepts
		fi
		touch "$TMP/go"
		ok "$WHAT: all are served" wait_end "$SUBJECT" 30
		[ "$MODE" = kernel ] || ok "$WHAT: the kernel accepts" wait_until 10 kernel_accepts
		[ "$MODE" != kernel ] && [ $how = rule ] && to_us
		stop "$OTHER"
		rm "$TMP/go"
	done
	# There is always somebody in its queue.
	for fam in $fams; do
		WHAT="storm, IPv$fam"
		own=B$fam
		PORT=$((PORT + 1))
		bg pb python3 "$TESTS/net/tcp_queued.py" storm "${!own}" $PORT
		OTHER=$BG
		wait_tcp b $PORT
		bg pa python3 "$TESTS/net/tcp_queued.py" connect "${!own}" $PORT "$TMP/end" >"$TMP/a" 2>&1
		SUBJECT=$BG
		wait_line "$TMP/a" "under way"
		BEFORE=$(tcp_stat b PassiveOpens)
		[ "$MODE" = kernel ] || to_kernel
		opened() { [ "$(tcp_stat b PassiveOpens)" -gt $((BEFORE + 30)) ]; }
		ok "$WHAT: the kernel's queue" wait_until 10 opened
		touch "$TMP/end"
		ok "$WHAT: nobody is reset" wait_end "$SUBJECT" 30
		pass "$WHAT: $(tail -n 1 "$TMP/a")"
		[ "$MODE" = kernel ] || to_us
		stop "$OTHER"
		rm "$TMP/end"
	done
done
done_testing
