#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# beanstalkd: a queue of jobs.
. "$(dirname "$0")/lib.sh"
need beanstalkd python3
net_up
server() { bg pb beanstalkd -l "$B4" -p 11300; }
talk() {
	python3 - "$B4" "$PORT" <<-'END'
		import socket, sys
		c = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=20)
		f = c.makefile("rb")
		for i in range(300):
		    body = b"%d" % i * 50
		    c.sendall(b"put 0 0 60 %d\r\n%s\r\n" % (len(body), body))
		    assert f.readline().startswith(b"INSERTED")
		got = 0
		for i in range(300):
		    c.sendall(b"reserve-with-timeout 5\r\n")
		    _, job, n = f.readline().split()
		    got += f.read(int(n) + 2)[:-2] == b"%d" % i * 50
		    c.sendall(b"delete %s\r\n" % job)
		    f.readline()
		print(got)
	END
}
zoo beanstalkd 11300
done_testing
