#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# libvma's thread_offload() decides for the sockets that a thread makes later, before SLUICE_OFFLOADED_SOCKETS, and not
# for others; what is accepted follows its listener; rules hold all the same.
. "$(dirname "$0")/lib.sh"
need python3
net_up
MODE=one
bg a python3 "$TESTS/net/reflector.py" "$A4" 7000
wait_udp a 7000
bg a python3 -c 'import socket, sys
s = socket.create_server((sys.argv[1], 7001))
while True: s.accept()' "$A4"
wait_tcp a 7001
bg a python3 -c 'import socket, sys, time
kept = []
while True:
    try: kept.append(socket.create_connection((sys.argv[1], 8000), 1))
    except OSError: pass
    time.sleep(0.1)' "$B4"
decided() { # settings...
	SL_ENV=("$@")
	sb timeout 60 python3 "$TESTS/net/thread_offload.py" "$B4" "$A4" 7000 "$BUILD/sluice" "$DEV_B"
}
after="this thread's are offloaded: ours ours"
rule="by a rule that the program adds, whatever the thread says: the kernel's the kernel's
what was there: ours ours
one that another rule is about: the kernel's
what was there: ours ours"
same "all are offloaded" "by the settings: ours ours
this thread's are not offloaded: the kernel's the kernel's
what was there: ours ours
accepted by this thread from a listener of before: ours
another thread's: ours
$after
another thread's: ours
$rule" "$(decided)"
same "none is" "by the settings: the kernel's the kernel's
this thread's are not offloaded: the kernel's the kernel's
what was there: the kernel's the kernel's
accepted by this thread from a listener of before: the kernel's
another thread's: the kernel's
$after
another thread's: the kernel's
$rule" "$(decided VMA_OFFLOADED_SOCKETS=0)"
done_testing
