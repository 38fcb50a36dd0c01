# SPDX-License-Identifier: BSD-2-Clause
# For scripts that speak the daemon's protocol themselves (lib/ctl/lease/proto.h).
import array, os, re, socket, struct, sys

MAGIC = 0x4C534C53
with open(os.path.join(os.path.dirname(__file__), "../../lib/ctl/lease/proto.h")) as f:
    VERSION = int(re.search(r"define SL_LEASE_VERSION (\d+)", f.read()).group(1))
with open(os.path.join(os.path.dirname(__file__), "../../lib/ctl/lease/lease.def")) as f:
    OPS = {name: i + 1 for i, name in enumerate(re.findall(r"^SL_LEASE\((\w+), \w+, ", f.read(), re.M))}
HEADER = "=IHHIi"  # magic, version, operation, number of the request, error
failed = 0


def dial(path, seconds=20):
    """A connection to the daemon, whose calls fail after that time. (With a time-out connect(2) would not wait for room
    in a full backlog.)"""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(path)
    s.settimeout(seconds)
    return s


def message(op, body=b"", magic=MAGIC, version=VERSION, err=0):
    """A request; op: its name in lease.def, or any number."""
    return struct.pack(HEADER, magic, version, op if isinstance(op, int) else OPS[op], 7, err) + body


def send(s, data, fds=()):
    s.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])


def receive(s):
    """The answer's error (0: none; "hung up"), body and descriptors."""
    data, anc, _, _ = s.recvmsg(65536, 65536)
    fds = [fd for _, _, got in anc for fd in array.array("i", got[: len(got) // 4 * 4])]
    return struct.unpack_from(HEADER, data)[4] if data else "hung up", data[16:], fds


def call(s, op, body=b"", fds=()):
    """Sends a request. Returns the answer's error and body; its descriptors are closed."""
    send(s, message(op, body), fds)
    err, body, got = receive(s)
    for fd in got:
        os.close(fd)
    return err, body


def greet(s):
    """HELLO of a program without a name, in this network namespace. Returns as call()."""
    ns = os.open("/proc/self/ns/net", os.O_RDONLY)
    ret = call(s, "HELLO", bytes(48), [ns])
    os.close(ns)
    return ret


def mapped(addr):
    """The address as the protocol has it: IPv4 as ::ffff:a.b.c.d."""
    return socket.inet_pton(socket.AF_INET6, addr if ":" in addr else "::ffff:" + addr)


def flow_key(proto, local, remote=None):
    """struct sl_flow_key; local, remote: (address, port). None: any peer."""
    far, rport = remote or ("::", 0)
    return mapped(local[0]) + mapped(far) + struct.pack("=HHBBBBI", local[1], rport, proto, 0, 0, 0, 0)


def claim(ifindex, key, lane=0, slot=1, flags=0, how=0):
    """The body of CLAIM, CLAIM_UPDATE and UNCLAIM; how: the word behind ifindex."""
    return struct.pack("=II", ifindex, how) + key + struct.pack("=IIIII", lane, slot, 1, flags, 0) + bytes(8)


class Session:
    def __init__(self, path):
        self.s = dial(path, 10)
        err, _ = greet(self.s)
        if err:
            sys.exit("request HELLO: " + os.strerror(-err))

    def ask(self, op, body=b"", fds=()):
        """The daemon's error, or the body of a good answer."""
        err, body = call(self.s, op, body, fds)
        return err if err else body

    def must(self, *args):
        ret = self.ask(*args)
        if isinstance(ret, int):
            sys.exit(f"request {args[0]}: {os.strerror(-ret)}")
        return ret

    def get(self, lower, vlan, tag):
        return self.ask(OPS["VLAN_GET"], struct.pack("=III", lower, vlan, tag))

    def vlan(self, op, lower, nr, leave=0):
        return self.ask(op, struct.pack("=III", lower, nr, leave))


def check(what, good, ret):
    global failed
    failed += not good
    print("ok:" if good else "FAILED:", what, os.strerror(-ret) if isinstance(ret, int) else ret)


def refused(what, ret):
    check(what, isinstance(ret, int) and ret < 0, ret)


def given(what, ret):
    check(what, isinstance(ret, bytes), ret)
    return struct.unpack_from("=I", ret)[0] if isinstance(ret, bytes) and ret else 0
