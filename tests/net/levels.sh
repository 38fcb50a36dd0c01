#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# The log's levels have what they promise: calls at DEBUG, packets at FINE, also when the level is raised while the
# program runs; colours on a terminal only.
RX=${RX:-xdp}
. "$(dirname "$0")/lib.sh"
settings_up

run() { # what, settings...: LOG is what the library said
	local what=$1
	shift
	SL_ENV=("SLUICE_STATS_SHMEM_DIR=$TMP" "SLUICE_LOG_FILE=$TMP/log" "$@")
	rm -f "$TMP/log"
	OUT=$(sb python3 "$TESTS/net/levels.py" "$what" "$B4" "$A4" 7000 "$BUILD/sluice")
	LOG=$(cat "$TMP/log")
}
says() { grep -qE -- "$1" <<<"$LOG"; }
silent() { ! says "$1"; }

run calls SLUICE_TRACELEVEL=details
ok "DETAILS has no calls" silent 'DETAILS.*call:|DEBUG'
run calls SLUICE_TRACELEVEL=debug
ok "DEBUG: socket" says "DEBUG.*call: socket\(2, 0x[0-9a-f]*, 0\) = [0-9]"
ok "bind" says "call: bind\([0-9]+, $B4:0\) = 0"
ok "connect" says "call: connect\([0-9]+, $A4:7000\) = 0"
ok "setsockopt" says 'call: setsockopt\([0-9]+, 1, 8, 4 bytes\) = 0'
ok "a call that fails" says 'call: listen\([0-9]+, 5\) = -1 EOPNOTSUPP'
ok "close" says 'call: close\([0-9]+\) = 0'
ok "and no packets" silent 'packet:'
run calls SLUICE_TRACELEVEL=func
ok "FUNC (fine): packets sent" says "FINE.*packet: tx [0-9]+ bytes, device [0-9]+, lane 0: UDP ${B4//./\\.}\.[0-9]+ > ${A4//./\\.}\.7000"
ok "received" says "packet: rx [0-9]+ bytes, device [0-9]+, lane 0: UDP ${A4//./\\.}\.7000 > ${B4//./\\.}\.[0-9]+"
ok "no colours in a file" silent $'\033'
run live
same "raised while it runs: the packets from then on" "1 1" \
	"$(grep -c 'packet: tx' <<<"$LOG") $(grep -c 'packet: rx' <<<"$LOG")"

# EXCEPTION_HANDLING, with a descriptor that wants SIGIO: the kernel's alone.
FILES=1024
leaves() { # settings...: sets STATUS
	SL_ENV=("SLUICE_STATS_SHMEM_DIR=$TMP" "SLUICE_LOG_FILE=$TMP/log" SLUICE_TRACELEVEL=error "$@")
	rm -f "$TMP/log"
	sb prlimit --nofile=$FILES:$FILES python3 -c 'import fcntl, os, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 0))
fcntl.fcntl(s, fcntl.F_SETFL, fcntl.fcntl(s, fcntl.F_GETFL) | os.O_ASYNC)
s.sendto(b"x", (sys.argv[2], 7000))' "$B4" "$A4" >"$TMP/out" 2>&1
	STATUS=$?
	LOG=$(cat "$TMP/log" 2>/dev/null)
}
for e in -1 0; do
	leaves SLUICE_EXCEPTION_HANDLING=$e
	same "EXCEPTION_HANDLING=$e: no error" "0 " "$STATUS $LOG"
done
for e in 1 2; do
	leaves VMA_EXCEPTION_HANDLING=$e
	ok "EXCEPTION_HANDLING=$e: an error in the log, and the program goes on" eval '[ $STATUS = 0 ] &&
		says "ERROR.*fd [0-9]+ goes to the kernel: a socket option that is not done in user space"'
done
leaves SLUICE_EXCEPTION_HANDLING=3
ok "EXCEPTION_HANDLING=3: it is aborted" eval '[ $STATUS = 134 ] && says "ERROR.*fd [0-9]+ goes to the kernel"'
leaves SLUICE_EXCEPTION_HANDLING=-2
same "EXCEPTION_HANDLING=-2: a start goes as ever" "0 " "$STATUS $LOG"
FILES=100
leaves SLUICE_EXCEPTION_HANDLING=-2
ok "and one that fails ends the program" eval '[ $STATUS = 1 ] && says "ERROR.*the program ends"'
leaves
same "which goes on otherwise" "0 " "$STATUS $LOG"

SL_ENV=("SLUICE_STATS_SHMEM_DIR=$TMP" SLUICE_TRACELEVEL=func SLUICE_LOG_FILE=)
OUT=$(sb python3 "$TESTS/net/levels.py" terminal "$B4" "$A4" 7000 "$BUILD/sluice")
ok "on a terminal packets are dim" grep -q $'\033\[2m.*FINE' <<<"$OUT"
ok "and warnings red" grep -q $'\033\[31m.*WARNING' <<<"$OUT"
SL_ENV+=(SLUICE_LOG_COLORS=0)
OUT=$(sb python3 "$TESTS/net/levels.py" terminal "$B4" "$A4" 7000 "$BUILD/sluice")
ok "LOG_COLORS=0: not" test "$(grep -c 'FINE.*packet' <<<"$OUT")" -gt 0 -a "$(grep -c $'\033' <<<"$OUT")" = 0
done_testing
