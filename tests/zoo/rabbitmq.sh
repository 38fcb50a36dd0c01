#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# rabbitmq: the Erlang machine, whose sockets are nonblocking and polled by threads of its own.
. "$(dirname "$0")/lib.sh"
need rabbitmq-server python3
net_up
mkdir -p "$TMP/rabbit"
chmod 777 "$TMP/rabbit"
cat >"$TMP/rabbit.conf" <<-END
	listeners.tcp.1 = $B4:5672
	loopback_users = none
END
echo '[].' >"$TMP/plugins"
# Run as root, past Debian's wrapper, which becomes the user rabbitmq.
server() {
	rm -rf "$TMP/rabbit/"*
	bg pb env HOME="$TMP/rabbit" RABBITMQ_NODENAME="zoo$$@localhost" RABBITMQ_CONFIG_FILE="$TMP/rabbit.conf" \
		RABBITMQ_MNESIA_BASE="$TMP/rabbit" RABBITMQ_LOG_BASE="$TMP/rabbit" RABBITMQ_PID_FILE="$TMP/rabbit/pid" \
		RABBITMQ_ENABLED_PLUGINS_FILE="$TMP/plugins" ERL_EPMD_PORT=$((20000 + $$ % 10000)) \
		/usr/lib/rabbitmq/bin/rabbitmq-server
}
talk() {
	python3 - "$B4" "$PORT" <<-'END'
		import socket, struct, sys
		def frame(kind, channel, body):
		    return struct.pack(">BHI", kind, channel, len(body)) + body + b"\xce"
		def method(channel, cls, m, args=b""):
		    return frame(1, channel, struct.pack(">HH", cls, m) + args)
		def short(s):
		    return bytes([len(s)]) + s
		def long(s):
		    return struct.pack(">I", len(s)) + s
		c = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=20)
		f = c.makefile("rb")
		def read():
		    kind, channel, n = struct.unpack(">BHI", f.read(7))
		    body = f.read(n)
		    assert f.read(1) == b"\xce"
		    return kind, body
		def expect(cls, m):
		    kind, body = read()
		    assert kind == 1 and struct.unpack_from(">HH", body) == (cls, m), body[:20]
		    return body[4:]
		c.sendall(b"AMQP\0\0\x09\x01")
		expect(10, 10)
		c.sendall(method(0, 10, 11, long(b"") + short(b"PLAIN") + long(b"\0guest\0guest") + short(b"en_US")))
		tune = expect(10, 30)
		c.sendall(method(0, 10, 31, tune) + method(0, 10, 40, short(b"/") + b"\0\0"))
		expect(10, 41)
		c.sendall(method(1, 20, 10, b"\0"))
		expect(20, 11)
		c.sendall(method(1, 50, 10, b"\0\0" + short(b"q") + b"\0" + long(b"")))
		expect(50, 11)
		sent = []
		for i in range(300):
		    body = bytes([i & 255]) * (i * 37 % 5000 + 1)
		    sent.append(body)
		    c.sendall(method(1, 60, 40, b"\0\0" + short(b"") + short(b"q") + b"\0") +
		              frame(2, 1, struct.pack(">HHQH", 60, 0, len(body), 0)) + frame(3, 1, body))
		c.sendall(method(1, 60, 20, b"\0\0" + short(b"q") + short(b"t") + b"\2" + long(b"")))
		expect(60, 21)
		got = []
		while len(got) < len(sent):
		    expect(60, 60)
		    _, header = read()
		    left, body = struct.unpack_from(">Q", header, 4)[0], b""
		    while len(body) < left:
		        body += read()[1]
		    got.append(body)
		print(len(got), got == sent)
	END
}
zoo rabbitmq 5672
done_testing
