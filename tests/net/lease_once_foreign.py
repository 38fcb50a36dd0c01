# SPDX-License-Identifier: BSD-2-Clause
# Before Linux 6.4 a client of sluiced gets AF_XDP sockets that are not bound yet, and binding needs no privilege: it
# must not have them on a device that it has no right to.
# Usage: lease_once_foreign.py SOCKET IFINDEX
import array, ctypes, errno, os, socket, struct, sys, time

from leaselib import MAGIC, VERSION

path, ifindex = sys.argv[1], int(sys.argv[2])
HELLO, UMEM, PORT_OPEN, LANE_OPEN = 1, 2, 3, 10
libc = ctypes.CDLL(None, use_errno=True)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(path)
s.settimeout(10)


def ask(op, body=b"", fds=(), tries=100):
    """The answer's body and descriptors. Asks again while a queue is in use."""
    anc = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    s.sendmsg([struct.pack("=IHHIi", MAGIC, VERSION, op, 7, 0) + body], anc)
    data, anc, _, _ = s.recvmsg(65536, 65536)
    err = struct.unpack_from("=IHHIi", data)[4]
    if err == -errno.EAGAIN and tries:  # the kernel lets go of a closed AF_XDP socket later
        time.sleep(0.05)
        return ask(op, body, fds, tries - 1)
    if err:
        sys.exit(f"request {op}: {os.strerror(-err)}: {data[16:].rstrip(bytes(1)).decode()}")
    return data[16:], [fd for _, _, d in anc for fd in array.array("i", d)]


def bind(fd, device):
    addr = struct.pack("=HHIII", 44, 2, device, 0, 0)  # sockaddr_xdp: XDP_COPY
    return -ctypes.get_errno() if libc.bind(fd, addr, len(addr)) else 0


ask(HELLO, bytes(48), [os.open("/proc/self/ns/net", os.O_RDONLY)])
ask(UMEM)
ask(PORT_OPEN, struct.pack("=II", ifindex, 0))
body, fds = ask(LANE_OPEN, struct.pack("=II", ifindex, 0))
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
