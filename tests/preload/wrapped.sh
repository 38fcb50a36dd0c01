#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A library behind this one in LD_PRELOAD that has connect(2) or bind(2) itself (a proxy's, authbind's) is asked, and
# the program's sockets are the kernel's. One in front is asked, too, and the socket is offloaded. (The library's own sockets
# are bound past neither.) A library behind that has calls for waiting alone takes no socket away.
. "$(dirname "$0")/lib.sh"
net_up
need gcc python3
unsanitized "a sanitizer's library comes first"
cat >"$TMP/w.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>
static int asked(const char *name, int fd, const struct sockaddr *a, socklen_t n)
{
	int (*next)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, name);
	write(2, name, 4);
	return next(fd, a, n);
}
int connect(int fd, const struct sockaddr *a, socklen_t n) { return asked("connect", fd, a, n); }
int bind(int fd, const struct sockaddr *a, socklen_t n) { return asked("bind", fd, a, n); }
C
gcc -shared -fPIC -w -o "$TMP/w.so" "$TMP/w.c" || skip "no compiler"
cat >"$TMP/e.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/epoll.h>
int epoll_wait(int ep, struct epoll_event *ev, int n, int ms)
{
	return ((int (*)(int, struct epoll_event *, int, int))dlsym(RTLD_NEXT, "epoll_wait"))(ep, ev, n, ms);
}
C
gcc -shared -fPIC -w -o "$TMP/e.so" "$TMP/e.c" || skip "no compiler"
bg a python3 "$TESTS/net/echo_both.py" "$A4" 7000
wait_tcp a 7000
ask() { # LD_PRELOAD, then what it says, and 1 if a segment came by the kernel
	local before
	before=$(b nstat -asz TcpInSegs | awk '/^Tcp/ { print $2 }')
	b env SLUICE_TRACELEVEL=2 "SLUICE_LOG_FILE=$TMP/log" "LD_PRELOAD=$1" python3 -c '
import socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind((sys.argv[1], 0))
s.connect((sys.argv[2], 7000))
s.settimeout(5)
s.sendall(b"hello")
print("", s.recv(5).decode(), s.getpeername()[1])' "$B4" "$A4" 2>&1 | sed 's/\(bind\)* / /' | tr '\n' ' '
	[ "$(b nstat -asz TcpInSegs | awk '/^Tcp/ { print $2 }')" -gt "$before" ] && echo kernel || echo ours
}
MODE=one
same "alone" "bindconn hello 7000 kernel" "$(ask "$TMP/w.so")"
same "in front" "bindconn hello 7000 ours" "$(ask "$TMP/w.so:$PRELOAD")"
same "behind" "bindconn hello 7000 kernel" "$(ask "$PRELOAD:$TMP/w.so")"
same "behind, with epoll_wait" " hello 7000 ours" "$(ask "$PRELOAD:$TMP/e.so")"
ok "the log says so" grep -q "stay with the kernel: a library behind this one" "$TMP/log"
done_testing
