#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# A program polls a ring by socketxtreme_poll: packets, their buffers, streams, new connections, user data.
. "$(dirname "$0")/lib.sh"
PEER=$BUILD/tests/preload/peer
need "$PEER" "$BIN/vma_xtreme"
net_up
MODE=one
bg a "$PEER" "$A4" 7000
wait_udp a 7000
ok "off without the setting" sb timeout 60 "$BIN/vma_xtreme" "$A4" 7000 "$B4" off
export SLUICE_SOCKETXTREME=1
for c in held again stream; do
	ok "$c" sb timeout 60 "$BIN/vma_xtreme" "$A4" 7000 "$B4" $c
done
far() {
	local i
	for i in 1 2 3; do
		a python3 -c "
import socket,time
for i in range(100):
    try:
        s = socket.create_connection(('$B4', 7001)); break
    except OSError:
        time.sleep(.05)
s.sendall(b'x' * 100); s.close()"
	done
}
far &
FAR=$!
ok "server" sb timeout 60 "$BIN/vma_xtreme" "$A4" 7000 "$B4" server
wait $FAR
done_testing
