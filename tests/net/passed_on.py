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


def users():
    device, peer_ns, own, peer, foreign = sys.argv[3:8]
    libc = ctypes.CDLL(None, use_errno=True)
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    door.bind(path)
    os.chmod(path, 0o777)
    door.listen(2)
    print("here", flush=True)
    control, fds = door.accept()[0], door.accept()[0]

    here, there = os.open("/proc/self/ns/net", os.O_RDONLY), os.open(peer_ns, os.O_RDONLY)
    assert libc.setns(there, 0) == 0
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.bind((peer, 7999))
    assert libc.setns(here, 0) == 0

    def ask(what):
        control.send(what.encode())
        return int(control.recv(100))

    def make(uid, addr, port, to=None, opts=()):
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

    def give(s):
        fds.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [s.fileno()]))])
        s.close()
        ask("take")

    def send(addr, port):
        for _ in range(5):
            sender.sendto(b"x", (addr, port))
        time.sleep(0.05)

    def is_claimed(port):
        out = subprocess.run(["bpftool", "-j", "map", "dump", "pinned", f"/sys/fs/bpf/sluice/{device}/endpoints"],
                             capture_output=True, text=True, check=True).stdout
        out += subprocess.run(["bpftool", "-j", "map", "dump", "pinned", f"/sys/fs/bpf/sluice/{device}/flows"],
                              capture_output=True, text=True, check=True).stdout
        return f'"local_port":{port},' in out

    def check(what, good, more=""):
        print("ok:" if good else "FAILED:", what, more, flush=True)

    def gets(s, addr, port, wait):
        """The socket gets all that is sent, at last; and the owner nothing more then."""
        end = time.monotonic() + wait
        while True:
            ask("look")
            send(addr, port)
            n, theirs = count(s), ask("look")
            if (n == 5 and not theirs) or time.monotonic() > end:
                return n == 5 and not theirs
            time.sleep(0.1)

    for port, addr, to, victims, name in (
        (7701, "0.0.0.0", None, own, "an address"),
        (7702, own, None, own, "the same address"),
        (7703, own, (peer, 7999), own, "the same flow"),
    ):
        give(make(ATTACKER, addr, port, to))
        send(own, port)
        check(f"{name}: the owner has it at first", ask("look") == 5 and is_claimed(port))
        v = make(VICTIM, victims, port, to)
        check(f"{name} that another user has later", gets(v, own, port, WAIT))
        ask("close")
        v.close()

    port = 7704
    ask(f"make 0.0.0.0 {port}")
    check("the owner's own socket: it is claimed at first", is_claimed(port))
    v = make(VICTIM, own, port)
    check("the owner's own socket, and another user's later", gets(v, own, port, WAIT))
    ask("close")

    # An option that was changed after bind(2) says nothing about the sockets that are there.
    port = 7700
    a = make(ATTACKER, "0.0.0.0", port)
    v = make(VICTIM, own, port)
    a.setsockopt(*REUSE, 0)
    send(own, port)
    check("the kernel prefers the victim's address", count(v) == 5)
    give(a)
    check("an address that another user had before", gets(v, own, port, 0))
    check("... is not claimed", not is_claimed(port))
    ask("close")

    # Any user can bind an address of another host, to which the kernel forwards.
    port = 7705
    give(make(ATTACKER, foreign, port, None,
              ((socket.IPPROTO_IP, IP_FREEBIND, 1), (socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode()))))
    send(foreign, port)
    check("an address of another host is not claimed", ask("look") == 0 and not is_claimed(port))
    ask("close")
    ask(f"make {foreign} {port + 1} {device}")
    send(foreign, port + 1)
    check("... nor for the owner's own socket", ask("look") == 0 and not is_claimed(port + 1))
    ask("close")


if sys.argv[1] == "owner":
    owner()
else:
    users()
