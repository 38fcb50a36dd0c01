# SPDX-License-Identifier: BSD-2-Clause
"""A program that owns a device without the daemon has sockets that others could abuse.

passed_on.py owner PATH: the program: receives sockets by PATH, makes one itself, and says how many datagrams came.
passed_on.py users PATH DEVICE PEER-NETNS OWN4 PEER4 FOREIGN4: users of that host, and the peer. One user makes a
socket and passes it to the owner; the kernel gives packets of the same port to another user's socket, which must get
them. Prints "ok" or "FAILED" for each case."""
import array, ctypes, os, socket, subprocess, sys, time

ATTACKER, VICTIM = 1001, 1002
WAIT = 20
REUSE = (socket.SOL_SOCKET, socket.SO_REUSEADDR)
IP_FREEBIND = 15
path = sys.argv[2]


def owner():
    ways = []
    for _ in range(2):
        ways.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        ways[-1].connect(path)
    control, fds = ways
    s = None
    while True:
        word = control.recv(100).decode().split()
        if not word:
            return
        if word[0] == "take":  # the maker has closed its own by now
            _, anc, _, _ = fds.recvmsg(10, 100)
            s = socket.socket(fileno=array.array("i", anc[0][2])[0])
        elif word[0] == "make":
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.setsockopt(*REUSE, 1)
            if len(word) > 3:
                s.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, word[3].encode())
            s.bind((word[1], int(word[2])))
        elif word[0] == "close":
            s.close()
        n = 0
        if word[0] != "close":
            s.setblocking(False)
            try:
                while True:
                    s.recv(2048)
                    n += 1
            except BlockingIOError:
                pass
        control.send(b"%d" % n)


def make(uid, addr, port, to=None, opts=()):
    """A socket of that user."""
    os.seteuid(uid)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    os.seteuid(0)
    s.setsockopt(*REUSE, 1)
    for level, opt, value in opts:
        s.setsockopt(level, opt, value)
    s.bind((addr, port))
    if to:
        s.connect(to)
    s.setblocking(False)
    return s


def count(s):
    n = 0
    try:
        while True:
            s.recv(2048)
            n += 1
    except BlockingIOError:
        return n


def check(what, good, more=""):
    print("ok:" if good else "FAILED:", what, more, flush=True)


class Users:
    """The owner's other end, and the peer."""

    def __init__(self, device, peer_ns, peer):
        libc = ctypes.CDLL(None, use_errno=True)
        door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        door.bind(path)
        os.chmod(path, 0o777)
        door.listen(2)
        print("here", flush=True)
        self.control, self.fds = door.accept()[0], door.accept()[0]
        self.device = device
        here, there = os.open("/proc/self/ns/net", os.O_RDONLY), os.open(peer_ns, os.O_RDONLY)
        assert libc.setns(there, 0) == 0
        self.sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sender.bind((peer, 7999))
        assert libc.setns(here, 0) == 0

    def ask(self, what):
        self.control.send(what.encode())
        return int(self.control.recv(100))

    def give(self, s):
        self.fds.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [s.fileno()]))])
        s.close()
        self.ask("take")

    def send(self, addr, port):
        for _ in range(5):
            self.sender.sendto(b"x", (addr, port))
        time.sleep(0.05)

    def is_claimed(self, port):
        return any(f'"local_port":{port},' in subprocess.run(
            ["bpftool", "-j", "map", "dump", "pinned", f"/sys/fs/bpf/sluice/{self.device}/{table}"],
            capture_output=True, text=True, check=True).stdout for table in ("endpoints", "flows"))

    def gets(self, s, addr, port, wait):
        """The socket gets all that is sent, at last; and the owner nothing more then."""
        end = time.monotonic() + wait
        while True:
            self.ask("look")
            self.send(addr, port)
            n, theirs = count(s), self.ask("look")
            if (n == 5 and not theirs) or time.monotonic() > end:
                return n == 5 and not theirs
            time.sleep(0.1)


def later_sockets(u, own, peer):
    for port, addr, to, victims, name in (
        (7701, "0.0.0.0", None, own, "an address"),
        (7702, own, None, own, "the same address"),
        (7703, own, (peer, 7999), own, "the same flow"),
    ):
        u.give(make(ATTACKER, addr, port, to))
        u.send(own, port)
        check(f"{name}: the owner has it at first", u.ask("look") == 5 and u.is_claimed(port))
        v = make(VICTIM, victims, port, to)
        check(f"{name} that another user has later", u.gets(v, own, port, WAIT))
        u.ask("close")
        v.close()


def owners_socket(u, own):
    port = 7704
    u.ask(f"make 0.0.0.0 {port}")
    check("the owner's own socket: it is claimed at first", u.is_claimed(port))
    v = make(VICTIM, own, port)
    check("the owner's own socket, and another user's later", u.gets(v, own, port, WAIT))
    u.ask("close")


def option_after_bind(u, own):
    """An option that was changed after bind(2) says nothing about the sockets that are there."""
    port = 7700
    a = make(ATTACKER, "0.0.0.0", port)
    v = make(VICTIM, own, port)
    a.setsockopt(*REUSE, 0)
    u.send(own, port)
    check("the kernel prefers the victim's address", count(v) == 5)
    u.give(a)
    check("an address that another user had before", u.gets(v, own, port, 0))
    check("... is not claimed", not u.is_claimed(port))
    u.ask("close")


def foreign_address(u, foreign):
    """Any user can bind an address of another host, to which the kernel forwards."""
    port = 7705
    u.give(make(ATTACKER, foreign, port, None, ((socket.IPPROTO_IP, IP_FREEBIND, 1),
                                                (socket.SOL_SOCKET, socket.SO_BINDTODEVICE, u.device.encode()))))
    u.send(foreign, port)
    check("an address of another host is not claimed", u.ask("look") == 0 and not u.is_claimed(port))
    u.ask("close")
    u.ask(f"make {foreign} {port + 1} {u.device}")
    u.send(foreign, port + 1)
    check("... nor for the owner's own socket", u.ask("look") == 0 and not u.is_claimed(port + 1))
    u.ask("close")


def users():
    device, peer_ns, own, peer, foreign = sys.argv[3:8]
    u = Users(device, peer_ns, peer)
    later_sockets(u, own, peer)
    owners_socket(u, own)
    option_after_bind(u, own)
    foreign_address(u, foreign)


if sys.argv[1] == "owner":
    owner()
else:
    users()
