#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Few packets have a completion of their own: a program that waits for one still gets it, and a queue that stands still
# is noticed though nothing follows in it.
VERBS=1
. "$(dirname "$0")/lib.sh"
net_up
MODE=simulated
BIN=$BUILD/tests/net
bg b "$BIN/echo" "$B4" 7000
wait_udp b 7000
mkfifo "$TMP/go"
exec 7<>"$TMP/go"
bg sa python3 "$TESTS/sim/settle.py" "$B4" 7000 <"$TMP/go" >"$TMP/out"
PROGRAM=$BG
shown() { grep -q "$1" "$TMP/out"; }

ok "five packets, which nothing follows" wait_until 20 shown 'nothing is unsent'
ok "a send buffer of two packets" wait_until 20 shown 'sent 200'
before=$(figure frames) asked=$(figure completions)
echo >&7
ok "a thousand questions" wait_until 20 shown answered
frames=$(($(figure frames) - before)) completions=$(($(figure completions) - asked))
ok "$frames packets, $completions completions" test "$frames" -ge 900 -a "$completions" -lt $((frames / 8))
all_done() { # all packets are done, since the last request has a completion
	[ "$(figure requests)" -gt "$(figure frames)" ]
}
ok "some of requests that send nothing" wait_until 5 all_done
ok "nothing has failed" not logged 'from now on'

nic_control a 'fail_nop 4' >/dev/null
echo >&7
ok "the request that sends nothing fails: the packets have left once" wait_until 20 shown 'answers 6'
ok "it has failed" wait_until 10 logged 'by AF_XDP from now on: local protection error'
ok "back again" wait_until 20 by_verbs_again 1

# The internal thread sleeps when all is quiet, and wakes for what is under way: a packet, and
# another queue.
echo >&7
ok "it sleeps" wait_until 20 shown '^asleep$'
nic_control a 'stall 1' >/dev/null
echo >&7
ok "a queue that stands still is left" wait_until 20 logged 'by AF_XDP from now on: completions do not come'
ok "for another one" wait_until 20 by_verbs_again 2
nic_control a unplug >/dev/null
echo >&7
ok "so is one that is gone" wait_until 20 logged 'by AF_XDP from now on: the device has failed'
echo >&7
ok "it sleeps" wait_until 20 shown '^asleep again'
nic_control a replug >/dev/null
ok "and looks for another one" wait_until 30 by_verbs_again 3
echo >&7
ok "no descriptor is left of the others" wait_until 20 shown '^no more'
echo >&7
ok "it ends" wait_end "$PROGRAM" 10
done_testing
