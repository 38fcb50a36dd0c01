# SPDX-License-Identifier: BSD-2-Clause
# Before Linux 6.4 a client of sluiced gets AF_XDP sockets that are not bound yet, and binding needs no privilege: it
# must not have them on a device that it has no right to.
# Usage: lease_once_foreign.py SOCKET IFINDEX
import ctypes, errno, os, socket, struct, sys, time

from leaselib import dial, greet, message, receive, send

path, ifindex = sys.argv[1], int(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
s = dial(path, 10)


def ask(op, body=b"", tries=100):
    """The answer's body and descriptors. Asks again while a queue is in use."""
    send(s, message(op, body))
    err, answer, fds = receive(s)
    if err == -errno.EAGAIN and tries:  # the kernel lets go of a closed AF_XDP socket later
        time.sleep(0.05)
        return ask(op, body, tries - 1)
    if err:
        sys.exit(f"request {op}: {os.strerror(-err)}: {answer.rstrip(bytes(1)).decode()}")
    return answer, fds


def bind(fd, device):
    addr = struct.pack("=HHIII", 44, 2, device, 0, 0)  # sockaddr_xdp: XDP_COPY
    return -ctypes.get_errno() if libc.bind(fd, addr, len(addr)) else 0


assert greet(s)[0] == 0
ask("UMEM")
ask("PORT_OPEN", struct.pack("=II", ifindex, 0))
body, fds = ask("LANE_OPEN", struct.pack("=II", ifindex, 0))
first, queues, unbound, anchors = struct.unpack_from("=4I", body)
assert unbound == 1 and anchors == queues and len(fds) == 2 * queues, (unbound, anchors, queues, fds)
for fd in fds:
    err = bind(fd, socket.if_nametoindex("lo"))
    assert err, "it was bound to another device"
try:
    socket.socket(44, socket.SOCK_RAW, 0, fileno=os.dup(fds[0])).setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
    sys.exit("it was let go to another device")
except PermissionError:
    pass
print("kept")
