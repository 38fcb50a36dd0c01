# SPDX-License-Identifier: BSD-2-Clause
"""aio_client.py ADDRESS PORT: twenty asyncio clients ask fifty times each, at the same time, with time-outs."""
import asyncio
import sys


class Client(asyncio.DatagramProtocol):
    def __init__(self):
        self.answers = asyncio.Queue()

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, sender):
        self.answers.put_nowait(data)


async def ask(i):
    loop = asyncio.get_running_loop()
    transport, c = await loop.create_datagram_endpoint(
        Client, remote_addr=(sys.argv[1], int(sys.argv[2])))
    good = 0
    for k in range(50):
        q = f"question {k} of client {i}".encode()
        transport.sendto(q)
        good += await asyncio.wait_for(c.answers.get(), 10) == q.upper()
    transport.close()
    return good


async def main():
    print(await asyncio.gather(*(ask(i) for i in range(20))))


asyncio.run(main())
