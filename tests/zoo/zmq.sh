#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# ZeroMQ: threads of its own, signalled by eventfds; request and reply, many messages one way, a large one.
. "$(dirname "$0")/lib.sh"
need python3
python3 -c 'import zmq' 2>/dev/null || skip "Python's zmq is not here"
net_up
cat >"$TMP/server.py" <<-'END'
	import sys, zmq
	s = zmq.Context().socket(zmq.ROUTER)
	s.bind(sys.argv[1])
	while True:
	    s.send_multipart(s.recv_multipart())
END
cat >"$TMP/client.py" <<-'END'
	import sys, zmq
	s = zmq.Context().socket(zmq.DEALER)
	s.connect(sys.argv[1])
	s.setsockopt(zmq.RCVTIMEO, 20000)
	for i in range(300):
	    s.send(b"%d" % i)
	    assert s.recv() == b"%d" % i
	print("one by one")
	for i in range(2000):
	    s.send(b"%d" % i * 20)
	print(all(s.recv() == b"%d" % i * 20 for i in range(2000)))
	s.send(b"x" * 3000000)
	print(len(s.recv()))
END
server() { bg pb python3 "$TMP/server.py" "tcp://$B4:5555"; }
talk() { python3 "$TMP/client.py" "tcp://$B4:$PORT"; }
zoo zmq 5555
done_testing
