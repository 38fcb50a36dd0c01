#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# What a packet costs by a lease beside what it costs with the broker inside the program: instructions in user space,
# by callgrind, which are the same on a busy machine. At most 3 % more.
. "$(dirname "$0")/lib_tcp.sh"
need valgrind setpriv
need_built
case $(basename "$BUILD") in *asan* | *tsan*) skip "callgrind counts no sanitized program" ;; esac
net_up
MODE=one
meet
# The internal thread takes no packets: only the program does.
SL_ENV=(SLUICE_PROGRESS_ENGINE_INTERVAL=0)
# A busy machine must not make the stream look idle.
b sysctl -qw net.ipv4.tcp_slow_start_after_idle=0
COUNT=${COUNT:-960}
# OUT_DIR keeps what callgrind says, for callgrind_annotate.
bg a "$BIN/echo" "$A4" 7000
bg a "$BIN/tcp_peer" "$A4" 7001
bg a python3 -c "import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('$A4', 7002))
while True:
    s.recv(100)"
wait_udp a 7000
wait_tcp a 7001
wait_udp a 7002
take_once() { # proto, port, how: instructions of a datagram or message, in TAKEN
	local n=$((COUNT + 32))
	[ "$3" != recv ] && [ "$3" != zcopy ] || n=$((COUNT + 40))
	[ "$3" != pingpong ] || n=$((COUNT / 8 + 4))
	sb valgrind --tool=callgrind --callgrind-out-file="${OUT:-/dev/null}" --collect-atstart=no \
		--toggle-collect=measured "$BIN/cost" "$1" "$A4" "$2" "$3" "$COUNT" >/dev/null 2>"$TMP/callgrind" ||
		die "$*: $(tail -n 3 "$TMP/callgrind")"
	TAKEN=$(sed -n "s/.*Collected : //p" "$TMP/callgrind" | awk -v n=$n '{ printf "%.1f", $1 / n }')
}
least() { awk "BEGIN { print ($1 < $2) ? $1 : $2 }"; }
is_near() { awk "BEGIN { exit !($1 <= 1.03 * $2) }"; }
# Takes the least of a few runs: now and then the far end's kernel sends an extra acknowledgment, and on a busy
# machine the program polls more often.
take() { # proto, port, how, the most runs, the figure that is near enough
	local i best=
	for i in $(seq "$4"); do
		take_once "$1" "$2" "$3"
		best=$(least "$TAKEN" "${best:-$TAKEN}")
		[ -z "${5:-}" ] || ! is_near "$best" "$5" || break
	done
	TAKEN=$best
}
CASES=${CASES:-"udp:7002:send udp:7002:sendmmsg udp:7000:recv udp:7000:pingpong tcp:7001:send tcp:7001:recv tcp:7001:pingpong"}
declare -A ALONE
sent=$(udp_stat b OutDatagrams)
for c in $CASES; do
	IFS=: read -r proto port how <<<"$c"
	OUT=${OUT_DIR:+$OUT_DIR/alone.$proto.$how}
	take "$proto" "$port" "$how" "$([ "$proto" = tcp ] && echo 2 || echo 1)"
	ALONE[$c]=$TAKEN
done
# (Listing and freeing a packet costs what the copy of a short one does; both figures move by some percent with where
# the linker puts the functions.)
take udp 7000 zcopy 1
ok "recvfrom_zcopy and free_packets: $TAKEN instructions, about recv's ${ALONE[udp:7000:recv]:-0}" \
	is_near "$TAKEN" "${ALONE[udp:7000:recv]:-0}"
LEASED=1
daemon_up b
for c in $CASES; do
	IFS=: read -r proto port how <<<"$c"
	OUT=${OUT_DIR:+$OUT_DIR/leased.$proto.$how}
	take "$proto" "$port" "$how" 3 "${ALONE[$c]}"
	ratio=$(awk "BEGIN { printf \"%.3f\", $TAKEN / ${ALONE[$c]} }")
	ok "$proto $how: $TAKEN instructions each by the daemon, ${ALONE[$c]} alone: $ratio times" \
		is_near "$TAKEN" "${ALONE[$c]}"
done
ok "none of the datagrams were the kernel's" test $(($(udp_stat b OutDatagrams) - sent)) -le 10
done_testing
