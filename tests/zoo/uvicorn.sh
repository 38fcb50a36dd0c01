#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# uvicorn on uvloop: libuv under Python.
. "$(dirname "$0")/lib.sh"
need python3 curl wrk
python3 -c 'import uvicorn, uvloop' 2>/dev/null || skip "uvicorn and uvloop are not here"
net_up
cat >"$TMP/app.py" <<-'END'
	async def app(scope, receive, send):
	    if scope["type"] != "http":
	        return
	    body = b""
	    while True:
	        part = await receive()
	        body += part.get("body", b"")
	        if not part.get("more_body"):
	            break
	    n = int(scope["path"][1:] or 0)
	    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % (n + len(body)))]})
	    await send({"type": "http.response.body", "body": b"x" * n + body})
END
server() { bg pb env PYTHONPATH="$TMP" python3 -m uvicorn --loop uvloop --host "$B4" --port 8000 --log-level warning app:app; }
talk() {
	local n
	head -c 1000000 /dev/urandom >"$TMP/up"
	for n in 1 1000 100000 3000000; do curl -s --max-time 20 "http://$B4:$PORT/$n" | md5sum; done
	curl -s --max-time 20 -H Expect: --data-binary "@$TMP/up" "http://$B4:$PORT/0" | cmp - "$TMP/up" && echo same
	seq 20 | xargs -P 8 -I{} curl -s --max-time 20 -o /dev/null -w '%{http_code}\n' "http://$B4:$PORT/100000" | sort | uniq -c
}
rate() { wrk -d 1s -c 10 -t 1 "http://$B4:$PORT/100" | awk '/Requests.sec/ { print $2 }'; }
zoo uvicorn 8000
done_testing
