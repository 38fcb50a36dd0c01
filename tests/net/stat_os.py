# SPDX-License-Identifier: BSD-2-Clause
"""stat_os.py OWN PEER NOBODY DEVICE: UDP and TCP sockets whose calls the kernel serves. Prints what each counter of a socket must
be, a line for each port, then "ready", and waits. NOBODY is an address of the link that no host has."""
import json
import socket
import sys
import threading
import time

own, peer, nobody, device = sys.argv[1:5]
SYN = 0x400  # MSG_SYN: libvma's dummy send
COUNTERS = [f"{d}_{k}" for d in ("rx_os", "tx_os") for k in ("pkts", "bytes", "eagain", "errors")]
COUNTERS += ["rx_eagain", "rx_errors", "tx_eagain", "tx_errors", "tx_dummies"]
kept = []


def expect(port, more={}, **counts):
    print(port, json.dumps({**{k: counts.get(k, 0) for k in COUNTERS}, **more}), flush=True)


def udp(address, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(None)
    s.bind((address, port))
    kept.append(s)
    return s


def fails(error, call, *args):
    try:
        call(*args)
    except error:
        return 1
    return 0


# A socket of the kernel's: datagrams, a look at one, a call that finds none.
s = udp("127.0.0.1", 7101)
for i in range(3):
    s.sendto(b"x" * 100, ("127.0.0.1", 7101))
s.recv(200, socket.MSG_PEEK)
s.recv(200)
s.recvmsg(200)
s.recv_into(bytearray(200))
assert fails(BlockingIOError, s.recv, 200, socket.MSG_DONTWAIT)
expect(7101, rx_os_pkts=3, rx_os_bytes=300, rx_os_eagain=1, tx_os_pkts=3, tx_os_bytes=300)

# A socket whose peer answers with errors counts them.
s = udp("127.0.0.1", 7102)
s.connect(("127.0.0.1", 9))
s.send(b"1234")
assert fails(ConnectionRefusedError, s.recv, 10)
s.send(b"1234")
assert fails(ConnectionRefusedError, s.send, b"1234")
expect(7102, tx_os_pkts=2, tx_os_bytes=8, rx_os_errors=1, tx_os_errors=1)

# An offloaded socket whose datagrams wait in the kernel until a neighbour answers.
s = udp(own, 7103)
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4608)
full = sum(fails(BlockingIOError, s.sendto, b"y" * 1000, socket.MSG_DONTWAIT, (nobody, 9)) for _ in range(20))
assert 0 < full < 20, full
expect(7103, tx_os_pkts=20 - full, tx_os_bytes=1000 * (20 - full), tx_os_eagain=full)

# An offloaded socket that makes dummy sends, and one of a datagram by another thread.
udp(own, 0).sendto(b"", (peer, 9))  # (its address becomes known)
s = udp(own, 7104)
s.connect((peer, 9))
while fails(OSError, s.send, b"dummy", SYN):  # until the peer's address is known
    time.sleep(0.01)
s.send(b"dummy", SYN)
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(own))
thread = threading.Thread(target=s.send, args=(b"data",))
thread.start()
thread.join()
expect(7104, {"mc_if": own, "rx_thread": 0, "tx_thread": thread.native_id, "tx_pkts": 1}, tx_dummies=2)

# A member of a group that sends multicasts from a device, and has sent nothing yet.
s = udp(own, 7107)
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("224.7.7.7") + socket.inet_aton(own))
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, bytes(8) + socket.if_nametoindex(device).to_bytes(4, "little"))
expect(7107, {"mc_if": None})

# A connection of the kernel's. What it has read and written counts by calls.
s = socket.create_server(("127.0.0.1", 7105))
c = socket.create_connection(("127.0.0.1", 7105), source_address=("127.0.0.1", 7106))
t = s.accept()[0]
kept += [s, c, t]
t.sendall(b"answer")
c.sendall(b"request")
c.recv(100)
assert fails(BlockingIOError, c.recv, 100, socket.MSG_DONTWAIT)
c.shutdown(socket.SHUT_WR)
assert fails(BrokenPipeError, c.send, b"more")
expect(7106, tx_os_pkts=1, tx_os_bytes=7, tx_os_errors=1, rx_os_pkts=1, rx_os_bytes=6, rx_os_eagain=1)
print("ready", flush=True)
time.sleep(60)
