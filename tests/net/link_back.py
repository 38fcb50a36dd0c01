# SPDX-License-Identifier: BSD-2-Clause
"""A message is on its way when the peer's device loses its link, and the link comes back between two time-outs.

link_back.py serve ADDRESS PORT             sends back all that comes
link_back.py ask ADDRESS PORT LINK RESULT   the link is away for SECONDS (the reader of the pipe LINK sets it "down" and
                                            "up"); RESULT gets the milliseconds of that, and those from its return to
                                            the answer
"""
import socket
import sys
import time

SECONDS = 1.7  # (time-outs come after 0.2, 0.6, 1.4 and 3 s)
MESSAGE = b"message\n"


def serve(address):
    s = socket.create_server(address)
    while True:
        c = s.accept()[0]
        while data := c.recv(4096):
            c.sendall(data)


def answer(s):
    got = b""
    while len(got) < len(MESSAGE):
        data = s.recv(4096)
        assert data, "the connection ended"
        got += data
    assert got == MESSAGE, got


def ask(address, pipe, result):
    def link(state):
        with open(pipe, "w") as f:
            print(state, file=f)

    s = socket.create_connection(address)
    for _ in range(20):
        s.sendall(MESSAGE)
        answer(s)
    link("down")
    time.sleep(0.1)
    s.sendall(MESSAGE)
    sent = time.monotonic()
    time.sleep(SECONDS)
    link("up")
    start = time.monotonic()
    answer(s)
    with open(result, "w") as f:
        print(round(1000 * (start - sent)), round(1000 * (time.monotonic() - start)), file=f)
    s.sendall(MESSAGE)
    answer(s)


address = (sys.argv[2], int(sys.argv[3]))
serve(address) if sys.argv[1] == "serve" else ask(address, *sys.argv[4:])
