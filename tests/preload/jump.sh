#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Signal handlers that jump out of calls of the library leave no lock held.
. "$(dirname "$0")/../net/lib_tcp.sh"
P=$BUILD/tests/preload/jump
need "$P" python3
unsanitized "a sanitizer's own calls do not stand a jump"
net_up
bg a python3 -c 'if 1:
	import socket, sys, threading
	def echo(s):
		try:
			while d := s.recv(65536):
				s.sendall(d)
		except OSError:
			pass
		s.close()
	l = socket.create_server((sys.argv[1], 7000), backlog=1000)
	while True:
		threading.Thread(target=echo, args=(l.accept()[0],), daemon=True).start()' "$A4"
wait_tcp a 7000
meet
for MODE in kernel one; do
	segs_begin
	differ jump pb timeout 100 "$P" "$A4" 7000 "$B4" "${ROUNDS:-1000}"
	segs_end jump 50
done
done_testing
