# SPDX-License-Identifier: BSD-2-Clause
# For scripts that speak the daemon's protocol themselves (lib/ctl/lease/proto.h).
import array, os, re, socket, struct, sys

MAGIC = 0x4C534C53
with open(os.path.join(os.path.dirname(__file__), "../../lib/ctl/lease/proto.h")) as f:
    VERSION = int(re.search(r"define SL_LEASE_VERSION (\d+)", f.read()).group(1))
with open(os.path.join(os.path.dirname(__file__), "../../lib/ctl/lease/lease.def")) as f:
    OPS = {name: i + 1 for i, name in enumerate(re.findall(r"^SL_LEASE\((\w+), \w+, ", f.read(), re.M))}
failed = 0


class Session:
    def __init__(self, path):
        self.s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.s.connect(path)
        self.s.settimeout(10)
        ns = os.open("/proc/self/ns/net", os.O_RDONLY)
        self.must(OPS["HELLO"], bytes(48), [ns])
        os.close(ns)

    def ask(self, op, body=b"", fds=()):
        """The daemon's error, or the body of a good answer."""
        anc = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.s.sendmsg([struct.pack("=IHHIi", MAGIC, VERSION, op, 7, 0) + body], anc)
        data, anc, _, _ = self.s.recvmsg(65536, 65536)
        for _, _, got in anc:
            for fd in array.array("i", got[: len(got) // 4 * 4]):
                os.close(fd)
        err = struct.unpack_from("=IHHIi", data)[4]
        return err if err else data[16:]

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
