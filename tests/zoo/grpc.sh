#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# gRPC's C core under Python: eventfds, epoll, a thread pool; streams both ways.
. "$(dirname "$0")/lib.sh"
need python3
python3 -c 'import grpc' 2>/dev/null || skip "Python's grpc is not here"
net_up
cat >"$TMP/server.py" <<-'END'
	import grpc, sys
	from concurrent import futures
	class Echo(grpc.GenericRpcHandler):
	    def service(self, call):
	        if call.method == "/zoo/echo":
	            return grpc.unary_unary_rpc_method_handler(lambda r, c: r)
	        if call.method == "/zoo/stream":
	            return grpc.stream_stream_rpc_method_handler(lambda it, c: (r for r in it))
	s = grpc.server(futures.ThreadPoolExecutor(4), handlers=(Echo(),))
	s.add_insecure_port(sys.argv[1])
	s.start()
	s.wait_for_termination()
END
cat >"$TMP/client.py" <<-'END'
	import grpc, sys
	with grpc.insecure_channel(sys.argv[1]) as ch:
	    echo, stream = ch.unary_unary("/zoo/echo"), ch.stream_stream("/zoo/stream")
	    print(all(echo(b"%d" % i * 100, timeout=20) == b"%d" % i * 100 for i in range(200)))
	    print(len(echo(b"x" * 3000000, timeout=20)))
	    print(sum(len(r) for r in stream(iter([b"y" * 10000] * 300), timeout=20)))
END
server() { bg pb python3 "$TMP/server.py" "$B4:50051"; }
talk() { python3 "$TMP/client.py" "$B4:$PORT"; }
zoo grpc 50051
done_testing
