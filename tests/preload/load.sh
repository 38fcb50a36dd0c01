#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# libsluice.so is loaded when it is needed and not before; without it, everything is the kernel's.
# shellcheck disable=SC2016
. "$(dirname "$0")/../net/lib.sh"
# (Python's own socket module tries an epoll set out: _socket does not.)
need "$PRELOAD" python3
net_up
MODE=one
loaded='import _socket as socket
%s
print(any("libsluice.so" in l for l in open("/proc/self/maps")),
      sum(1 for t in __import__("os").listdir("/proc/self/task")))'
py() { # code: is the library there afterwards, and how many threads
	# shellcheck disable=SC2059
	"$WHO" python3 -c "$(printf "$loaded" "$1")"
}
WHO=sb
same "a program without sockets" "False 1" "$(py pass)"
same "a stream socket: the library and its thread" "True 2" "$(py 's = socket.socket()')"
same "a raw socket" "False 1" "$(py 's = socket.socket(socket.AF_INET, socket.SOCK_RAW, 255)')"
same "a UNIX datagram socket" "False 1" "$(py 's = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)')"
same "an epoll set: the library, and no thread" "True 1" "$(py 'import select; e = select.epoll()')"
same "a UDP socket: the library and its thread" "True 2" \
	"$(py 's = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)')"
same "an IPv6 one" "True 2" "$(py 's = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)')"
exec 5<>/dev/udp/127.0.0.1/9
same "an inherited socket that is closed" "False 1" "$(py 'import os; os.close(5)')"
same "and one that is used" "True 2" "$(py 'import os; os.write(5, b"x")')"
exec 5>&-

# Less address space than the library reserves. (A sanitizer's own is terabytes.)
echo='s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0))
s.sendto(b"x", s.getsockname()); assert s.recv(10) == b"x"'
case $(basename "$BUILD") in
*san*) ;;
*)
	rm -f "$TMP"/sluice.*.log
	same "with too little to reserve the kernel has its sockets" "True 1" "$(ulimit -v 50000 && py "$echo")"
	same "which is said, once, with the remedy" 1 "$(grep -hc 'everything stays with the kernel: ENOMEM .*remedy: ' "$TMP"/sluice.*.log)"
	# Address space into which its tables may grow does not count as memory of the program.
	same "with 200 MB of data allowed it starts" "True 2" "$(ulimit -d 200000 && py "$echo")"
	;;
esac

# The preload library alone.
mkdir "$TMP/alone"
cp "$PRELOAD" "$TMP/alone/"
PRELOAD=$TMP/alone/$(basename "$PRELOAD")
same "without the library" "False 1" "$(py "$echo" 2>"$TMP/err")"
same "it is said, once" 1 "$(grep -c 'WARNING: everything stays with the kernel: libsluice.so.1: cannot open' "$TMP/err")"
same "and no more" 1 "$(wc -l <"$TMP/err")"
done_testing
