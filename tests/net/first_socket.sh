#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A small program with one offloaded socket has at most 11 MB more in memory than by the kernel (by the daemon 7.5 MB,
# though its group's memory is 128 MB), and makes its first
# socket with 1,260 system calls at most, and one network namespace; with SLUICE_START=background its thread makes 650 at most, since the
# library's thread opens the device; beside a process that has the device, with a few
# looks at that process. A process of the tool, which each owner of a device starts, loads few libraries, and closes the
# packet sockets and XSKs of an owner that exits, once that has ended. libbpf and
# libxdp are loaded for a device alone, so not by a program that has none or has it from the daemon. (None of it
# depends on the load, as times would.)
# (In a bpffs of its own: the library looks at the pins of each device there, so at those of tests beside this one.)
if [ "$EUID" = 0 ] && [ -z "${OWN_BPFFS:-}" ]; then
	OWN_BPFFS=1 exec unshare --mount bash -c 'mount -t bpf bpf /sys/fs/bpf; exec bash "$@"' first_socket "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"
unsanitized "a sanitizer has memory of its own"
[ -z "${VERBS:-}${RX:-}" ] || skip "the bounds are those of packet sockets"
net_up
need strace
MODE=one
WAITS='BPF_PROG_ATTACH, .target_fd=[1-9]|PACKET_RX_RING' # (a device's; device 0 is a question to the kernel)
loads_libbpf() { grep -q 'openat(.*/libbpf\.so' "$TMP/trace"; }
for kind in udp tcp; do
	kernel=$(b "$BIN/first_socket" $kind "$B4")
	ours=$(sb "$BIN/first_socket" $kind "$B4")
	ok "$kind: $((ours - kernel)) KB more than the kernel's $kernel" test $((ours - kernel)) -le 11264
	kernel=$(b strace -o "$TMP/trace" "$BIN/first_socket" $kind "$B4" >/dev/null && wc -l <"$TMP/trace")
	nap 300 # (a start while the last reaper still closes its sockets asks for the device again and again)
	ours=$(sb strace -o "$TMP/trace" "$BIN/first_socket" $kind "$B4" >/dev/null && wc -l <"$TMP/trace")
	ok "$kind: libbpf is loaded for its device" loads_libbpf
	# (Other threads make the calls that wait for the kernel's grace periods, while this one loads the steering program.)
	same "$kind: programs of private devices and packet rings by the program's thread" 0 "$(grep -cE "$WAITS" "$TMP/trace")"
	ok "$kind: $((ours - kernel)) system calls of the program's thread, its end included" test $((ours - kernel)) -le 1260
	nap 300
	# (Not its waits for the library's thread, a tenth of a millisecond each: how many these are depends on the load.)
	ours=$(SLUICE_START=background sb strace -o "$TMP/trace" "$BIN/first_socket" $kind "$B4" >/dev/null && grep -vc nanosleep "$TMP/trace")
	ok "$kind: $((ours - kernel)) of them in the background" test $((ours - kernel)) -le 650
	sb strace -f -e trace=unshare -o "$TMP/trace" "$BIN/first_socket" $kind "$B4" >/dev/null
	same "$kind: network namespaces that it makes" 1 "$(grep -c 'unshare(CLONE_NEWNET) *= 0' "$TMP/trace")"
	# (A program on the private pair would cost another grace period; only a daemon, which lends the pair, has one.)
	sb strace -f -e trace=bpf,setsockopt,socket -o "$TMP/trace" "$BIN/first_socket" $kind "$B4" >/dev/null
	same "$kind: programs of private devices and packet rings by all threads" 1 "$(grep -cE "$WAITS" "$TMP/trace")"
	same "$kind: packet sockets that it makes" 3 "$(grep -cE 'socket\(AF_PACKET, SOCK_RAW' "$TMP/trace")"
	sb strace -f -e trace=sendmsg,recvmsg,clone,clone3,close,exit_group -e inject=sendmsg:delay_exit=100000 -o "$TMP/trace" "$BIN/first_socket" $kind "$B4" >/dev/null
	# (The kernel closes each of these after a grace period: the process's end would wait for all.)
	n=$(grep -o 'iov_base="q".*SCM_RIGHTS, cmsg_data=\[[^]]*' "$TMP/trace" | sed 's/.*\[//' | wc -w)
	ok "$kind: $n sockets that its reaper closes" test "$n" -ge 3
	# (A close that comes before the process's own is not the last one, so nobody waits in the reaper.)
	ok "$kind: it closes them after the process" awk '/sendmsg.*iov_base="q"/ { owner = $1 } $1 == owner && /exit_group/ { ends = NR }
		reaper && $1 == reaper && /clone|close/ && !closes { closes = NR }
		/recvmsg.*iov_base="q".*SCM_RIGHTS/ { reaper = $1 } END { exit !(ends && closes > ends) }' "$TMP/trace"
done
sb strace -f -o "$TMP/trace" "$BIN/first_socket" udp 127.0.0.1 >/dev/null
ok "not for a socket of no device" not loads_libbpf
n=$(ldd "$BUILD/sluice" | grep -c '=>')
ok "the tool loads $n libraries" test "$n" -ge 1 -a "$n" -le 3
bg sb "$BIN/echo" "$B4" 7001
wait_udp b 7001
ok "the device is another's" wait_until 10 test -e "/sys/fs/bpf/sluice/$DEV_B/flows"
for kind in udp tcp; do
	rm -f "$TMP"/sluice.*.log
	sb strace -o "$TMP/trace" "$BIN/first_socket" $kind "$B4" >/dev/null
	ok "$kind: it is told that another process has the device" grep -q "is used by process $BG" "$TMP"/sluice.*.log
	n=$(grep -c pidfd_open "$TMP/trace")
	ok "$kind: $n looks whether that process dies" test "$n" -ge 1 -a "$n" -le 2
done
stop "$BG"
daemon_up b
LEASED=1
kernel=$(b "$BIN/first_socket" udp "$B4")
ours=$(sb "$BIN/first_socket" udp "$B4")
ok "by the daemon: $((ours - kernel)) KB more than the kernel's $kernel" test $((ours - kernel)) -le 7680
: >"$TMP/trace"
chmod 666 "$TMP/trace" # (the program's user writes it)
sb strace -f -o "$TMP/trace" "$BIN/first_socket" udp "$B4" >/dev/null
ok "it is traced" grep -q 'openat(.*/libsluice\.so' "$TMP/trace"
ok "and without libbpf" not loads_libbpf
ok "it has a lease" grep -q "offloaded by sluiced" "$TMP"/sluice.*.log
done_testing
