#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# With SLUICE_START=background the first bind(2) and listen(2) of a blocking program return while the library's thread opens
# the device: their thread makes no BPF map and loads no program. The kernel serves the socket meanwhile. No datagram
# is lost, doubled or out of order when the device takes over, no connection fails, and both sockets are offloaded then;
# so is, in time, a connection that the kernel had before. A child that is forked at once, and files that are opened at
# once, find what they find without the library. By default bind(2), and listen(2) of a socket that does not block, do the same,
# while listen(2) of one that blocks, and a send that blocks, open the device; with SLUICE_START=wait each call does.
. "$(dirname "$0")/lib_tcp.sh"
export SLUICE_START=background
net_up
need strace python3
need_built
SL_ENV=("SLUICE_STATS_SHMEM_DIR=$TMP/shm")
mkdir -m 1777 "$TMP/shm"
T=(python3 "$TESTS/net/first_bind.py")
is_offloaded() { # protocol; connection: two of tcp
	if [ "$1" = connection ]; then
		[ "$("$BUILD/sluice" stat -k "$TMP/shm" --json 2>/dev/null | grep -o '"proto":"tcp","offloaded":true' | wc -l)" = 2 ]
		return
	fi
	"$BUILD/sluice" stat -k "$TMP/shm" --json 2>/dev/null | grep -q "\"proto\":\"$1\",\"offloaded\":true"
}
# Runs the sender on host a, the subject on b; the sender ends when the subject has been offloaded for a moment.
under_traffic() { # protocol, sender, subject
	local from to
	rm -f "$TMP/end"
	bg a "${T[@]}" "$2" "$B4" 7000 "$TMP/end" >"$TMP/sender"
	from=$BG
	nap 200
	bg $WHO "${T[@]}" "$3" "$B4" 7000 >"$TMP/subject"
	to=$BG
	"wait_${1/connection/tcp}" b 7000
	[ $MODE = kernel ] || ok "$3: it comes to be offloaded" wait_until 20 is_offloaded "$1"
	nap 300
	touch "$TMP/end"
	wait_end "$from" 30 || fail "$2: it does not end"
	wait_end "$to" 30 || fail "$3: it does not end"
}
MODE=one
loads() { sb ${UNDER:-} strace -qq -e trace=bpf -o "$TMP/trace" "$BIN/first_socket" "$1" "$B4" >/dev/null; grep -cE 'BPF_(MAP_CREATE|PROG_LOAD|LINK_CREATE)' "$TMP/trace"; }
for kind in udp tcp; do
	case $BUILD${LEASED:-} in *san* | *1) break ;; esac # (the daemon makes them; a sanitizer's run time makes calls of its own)
	same "$kind: slow calls of the program's thread" 0 "$(loads $kind)"
	export SLUICE_START=wait
	n=$(loads $kind)
	ok "$kind: $n slow calls where it waits" test "$n" -gt 5
	unset SLUICE_START
	for how in $([ $kind = udp ] && echo udp bound || echo tcp nonblock); do
		n=$(loads $how)
		case $how in
		udp | nonblock) same "$how: slow calls by default" 0 "$n" ;;
		*) ok "$how: $n slow calls by default" test "$n" -gt 5 ;;
		esac
	done
	[ $kind = tcp ] || ! chrt -r 1 true 2>/dev/null || ok "real time: $(UNDER="chrt -r 1" loads udp) slow calls by default" \
		test "$(UNDER="chrt -r 1" loads udp)" -gt 5 # (beside a thread that spins the library's might not run)
	export SLUICE_START=background
done
# Ten programs that send one datagram and end: those that do not wait open no device, which takes most of the time.
short() {
	sb python3 -c 'import resource, subprocess, sys
for _ in range(10):
	subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
r = resource.getrusage(resource.RUSAGE_CHILDREN)
print(int((r.ru_utime + r.ru_stime) * 1000))' "$BIN/first_socket" datagram "$A4"
}
before=$(SLUICE_START=wait short)
now=$(short)
case $BUILD in *san*) ;; *) ok "short programs: $now ms of processor time, where they wait $before" test $((now * 5)) -lt $((before * 3)) ;; esac
for MODE in kernel one default; do
	[ $MODE != default ] || unset SLUICE_START
	WHO=$([ $MODE = kernel ] && echo b || echo sb)
	rounds=$([ $MODE = one ] && echo "1 2" || echo 1)
	for i in $rounds; do
		under_traffic udp feed receive
		same "datagrams" all "$(<"$TMP/subject")"
	done
	for i in $rounds; do
		under_traffic tcp ask serve
		same "connections" "0 wrong" "$(<"$TMP/sender")"
	done
	for i in $rounds; do
		under_traffic connection ping echo
		same "a connection from before" "0 wrong" "$(<"$TMP/sender")"
	done
	bg $WHO "${T[@]}" fork "$B4" 7001 >"$TMP/fork"
	wait_udp b 7001
	for i in 1 2 3 4 5 6; do
		a python3 -c 'import socket, sys; socket.socket(2, 2).sendto(b"hello", (sys.argv[1], 7001))' "$B4"
		! wait_end "$BG" 1 || break
	done
	same "a child forked at once" "child hello" "$(<"$TMP/fork")"
	if [ -z "${LEASED:-}" ]; then
		bg $WHO "${T[@]}" user "$B4" 7003 >"$TMP/user"
		wait_udp b 7003
		[ $MODE = kernel ] || ok "a change of the effective user: offloaded" wait_until 20 is_offloaded udp
		a python3 -c 'import socket, sys; socket.socket(2, 2).sendto(b"hello", (sys.argv[1], 7003))' "$B4"
		wait_end "$BG" 30 || fail "user: it does not end"
		same "a change of the effective user" hello "$(<"$TMP/user")"
	fi
	same "numbers" "file 0 copies 39" "$($WHO "${T[@]}" numbers "$B4" 7002 2>/dev/null)"
done
done_testing
