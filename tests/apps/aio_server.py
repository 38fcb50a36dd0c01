# SPDX-License-Identifier: BSD-2-Clause
"""aio_server.py ADDRESS PORT asyncio|selectors: an echo server over UDP, with a timer and a pipe in the same event
loop."""
import asyncio
import os
import selectors
import socket
import sys

addr, port, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]


class Echo(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, sender):
        self.transport.sendto(data.upper(), sender)


async def serve():
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(Echo, local_addr=(addr, port))
    while True:  # timers and a thread's wake-up through a pipe beside it
        await asyncio.sleep(0.01)
        await loop.run_in_executor(None, os.getpid)


def select_loop():
    sel = selectors.DefaultSelector()
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((addr, port))
    s.setblocking(False)
    r, w = os.pipe()
    sel.register(s, selectors.EVENT_READ)
    sel.register(r, selectors.EVENT_READ)
    while True:
        for key, _ in sel.select(0.05) or ():
            if key.fileobj is r:
                os.read(r, 100)
                continue
            data, sender = s.recvfrom(65536)
            s.sendto(data.upper(), sender)
            os.write(w, b"x")


asyncio.run(serve()) if how == "asyncio" else select_loop()
