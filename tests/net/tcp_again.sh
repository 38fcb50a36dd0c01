#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A socket connects again, and a port is used again that is in TIME_WAIT.
. "$(dirname "$0")/lib_tcp.sh"
net_up
bg a python3 -c 'import socket
with socket.create_server(("::", 7053), family=socket.AF_INET6, dualstack_ipv6=True) as s:
	while True: # (the peer says nothing, so a connection ends by our FIN)
		s.accept()[0].close()'
wait_tcp a 7053
tcp_differ again ""
done_testing
