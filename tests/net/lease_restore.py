# SPDX-License-Identifier: BSD-2-Clause
# Clients of sluiced that ask for the kernel's connections: their own, and others'.
# Usage: lease_restore.py SOCKET OWN-ADDRESS IFINDEX PEER (as root; it becomes two users)
import errno, fcntl, os, socket, struct, sys, time

from leaselib import claim, dial, flow_key, mapped, message, receive, send

LIVE, ENDED, RESET, SYN, QUEUE = 1, 2, 3, 4, 5
PASS = 4
TCP_REPAIR = 19
F_ADD_SEALS, SEALS, SEAL_WRITE = 1033, 2 | 4 | 8, 8
path, own, ifindex, peer = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
VICTIM, SERVER = 9000, 9001
failed = False


def check(what, good, found=""):
    global failed
    failed = failed or not good
    print("ok:" if good else "FAILED:", os.geteuid(), what, "" if good else found, flush=True)


class Session:
    def __init__(self):
        self.s = dial(path)

    def send(self, op, body=b"", fds=()):
        send(self.s, message(op, body), fds)

    def answer(self):
        """The error, the body, and the descriptors."""
        err, body, fds = receive(self.s)
        return -errno.EPIPE if err == "hung up" else err, body, fds

    def ask(self, *args):
        self.send(*args)
        return self.answer()

    def open(self):
        ns = os.open("/proc/self/ns/net", os.O_RDONLY)
        for op, body, fds in (("HELLO", bytes(48), [ns]), ("UMEM", b"", ()), ("PORT_OPEN", struct.pack("=II", ifindex, 0), ()),
                              ("LANE_OPEN", struct.pack("=II", ifindex, 0), ())):
            err, answer, fds = self.ask(op, body, fds)
            assert err == 0, (op, err, answer)
        return self

    def claim(self, sock, port, rport, flags=0):
        key = flow_key(socket.IPPROTO_TCP, (own, port), (peer, rport))
        return self.ask("CLAIM", claim(ifindex, key, flags=flags), [sock.fileno()])[0]


def image(port, rport, rcvq=0, sndq=0, unsent=0, state=1, wscale=7, mss=1460, flags=1, local=own, remote=peer, how=LIVE):
    conn = mapped(local) + mapped(remote) + struct.pack("=HHI", port, rport, 0)
    conn += struct.pack("=IIIIIII", 1000, 2000 + rcvq, 2000, 65535, 65535, 65535, 2000 + rcvq)
    conn += struct.pack("=IIIIIII", unsent, sndq, rcvq, 87040, 131072, 0, 0)
    conn += struct.pack("=HHBBBB", mss, flags, state, wscale, wscale, 0)
    return struct.pack("=I", how) + conn + struct.pack("=IIHH", 0, 0, 0, 0)


def memfd(data, seals=SEALS):
    fd = os.memfd_create("queues", os.MFD_ALLOW_SEALING)
    os.write(fd, data)
    if seals:
        fcntl.fcntl(fd, F_ADD_SEALS, seals)
    return fd


def uid_of(port, rport):
    for line in open("/proc/net/tcp"):
        f = line.split()
        if f[1].endswith(":%04X" % port) and f[2].endswith(":%04X" % rport):
            return int(f[7])
    return None


def goes(port, rport):
    """True: the kernel has no such connection, or soon has none (the daemon closes it in a thread of its own)."""
    for _ in range(200):
        if uid_of(port, rport) is None:
            return True
        time.sleep(0.01)
    return False


def new_bound():
    s = socket.socket()
    s.bind((own, 0))
    return s, s.getsockname()[1]


def is_cheap(s):
    """32 MB for a listener's queue take the daemon no longer than a few bytes do, which the kernel takes."""
    listener = socket.create_server((own, 0))
    port = listener.getsockname()[1]

    def takes(rport, n):
        fd = memfd(b"", 0)
        os.ftruncate(fd, n)
        fcntl.fcntl(fd, F_ADD_SEALS, SEALS)
        check("a flow of the own listener is claimed", s.claim(listener, port, rport) == 0)
        begin = time.monotonic()
        err = s.ask("RESTORE", image(port, rport, rcvq=n, flags=0, how=QUEUE), [listener.fileno(), fd])[0]
        check("it was tried", err == (0 if n == 5 else -errno.EAGAIN), err)
        return time.monotonic() - begin

    few = max(takes(rport, 5) for rport in (11, 12, 13))
    much = takes(14, 32 << 20)
    listener.close()
    return much < 5 * few


def refusals(s):
    claimed = s.claim(inherited, inherited.getsockname()[1], 7)
    shadow, port = new_bound()
    fd = shadow.fileno()
    check("a flow that was never claimed", s.ask("RESTORE", image(port, 7), [fd, fd])[0] == -errno.EPERM)
    check("the victim's port", s.ask("RESTORE", image(VICTIM, 7), [fd, fd])[0] == -errno.EPERM)
    check("it passes to the kernel", s.claim(shadow, port, 9, PASS) == 0)
    check("and that is no proof", s.ask("RESTORE", image(port, 9), [fd, fd])[0] == -errno.EPERM)
    check("it is claimed", s.claim(shadow, port, 7) == 0)
    check("another peer of that port", s.ask("RESTORE", image(port, 8), [fd, fd])[0] == -errno.EPERM)
    check("another address", s.ask("RESTORE", image(port, 7, local="127.0.0.1"), [fd, fd])[0] == -errno.EPERM)
    for what, body in (("a window scale of 15", image(port, 7, wscale=15)), ("a listener", image(port, 7, state=10)),
                       ("a closed one", image(port, 7, state=7)), ("an open one that has ended", image(port, 7, how=ENDED)),
                       ("no port", image(0, 7)), ("no segment size", image(port, 7, mss=1)),
                       ("unsent bytes", image(port, 7, sndq=5, unsent=5)), ("a huge queue", image(port, 7, rcvq=1 << 31)),
                       ("a peer that is a group", image(port, 7, remote="224.0.0.1")), ("no such kind", image(port, 7, how=9)),
                       ("a FIN that is to come", image(port, 7, flags=1 << 6)), ("a SYN without data", image(port, 7, how=SYN))):
        err = s.ask("RESTORE", body, [fd, fd])[0]
        check(what, err == -errno.EINVAL, err)
    good = image(port, 7, rcvq=5)
    pipe = os.pipe()
    for what, file in (("bytes in no memfd", pipe[0]), ("bytes in the socket", fd), ("bytes that are not sealed", memfd(b"hello", 0)),
                       ("bytes that can be written", memfd(b"hello", 2 | 4)), ("too few bytes", memfd(b"hell")),
                       ("too many bytes", memfd(b"hello!")), ("bytes in a device", os.open("/dev/zero", os.O_RDWR))):
        err = s.ask("RESTORE", good, [fd, file])[0]
        check(what, err == -errno.EPERM, err)
    check("a socket that does not listen", s.ask("RESTORE", image(port, 7, rcvq=5, how=QUEUE), [fd, memfd(b"hello")])[0] < 0)
    check("nor does the victim's listener get it", s.ask("RESTORE", image(VICTIM, 7, rcvq=5, how=QUEUE), [fd, memfd(b"hello")])[0] < 0)
    err = s.ask("RESTORE", image(inherited.getsockname()[1], 7, how=QUEUE), [inherited.fileno()] * 2)[0] if claimed == 0 else None
    check("a listener that root has made gets none of it", err == -errno.EPERM, (claimed, err))
    check("a queue that is too long for the kernel's is not sent", is_cheap(s))
    check("a pipe for the shadow", s.ask("RESTORE", good, [pipe[0], memfd(b"hello")])[0] < 0)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    check("a UDP socket for the shadow", s.ask("RESTORE", good, [udp.fileno(), memfd(b"hello")])[0] < 0)
    check("nothing has begun", s.ask("RESTORED", struct.pack("=I", 1))[0] == -errno.ENOENT)
    check("one begins", s.ask("RESTORE", good, [fd, memfd(b"hello")])[0] == 0)
    other, _ = new_bound()
    check("its packets pass, whatever the proof", s.claim(other, port, 7, PASS) == 0)
    check("they are nobody's without one", s.claim(other, port, 7) == -errno.EPERM)
    check("nor do others pass", s.claim(other, port, 8, PASS) == s.claim(other, VICTIM, 8, PASS) == -errno.EPERM)
    check("and is not to be", s.ask("RESTORED", struct.pack("=I", 0))[0] == -errno.ECANCELED)
    check("the kernel has it no more", goes(port, 7))
    check("it is claimed again", s.claim(shadow, port, 7) == 0)
    return shadow, port


def over(s):
    """What is left of a connection that is over and not claimed: its bytes, but not its port."""
    shadow, _ = new_bound()
    for what, how in (("ended", ENDED), ("reset", RESET)):
        err = s.ask("RESTORE", image(VICTIM, 7, rcvq=5, state=7, how=how), [shadow.fileno(), memfd(b"hello")])[0]
        check(f"one that has {what}", err == 0, err)
        err, _, fds = s.ask("RESTORED", struct.pack("=I", 1))
        check("is given", err == 0 and len(fds) == 1, err)
        if err:
            continue
        c = socket.socket(fileno=fds[0])
        check("with its bytes", c.recv(100, socket.MSG_DONTWAIT) == b"hello")
        check("at a port that was free", c.getsockname()[0] == own and c.getsockname()[1] not in (0, VICTIM), c.getsockname())
        c.close()


def get(s, shadow, port):
    check("the own connection", s.ask("RESTORE", image(port, 7, rcvq=5), [shadow.fileno(), memfd(b"hello")])[0] == 0)
    err, _, fds = s.ask("RESTORED", struct.pack("=I", 1))
    check("is given", err == 0 and len(fds) == 1, err)
    if err:
        return
    c = socket.socket(fileno=fds[0])
    check("to where it was", c.getpeername() == (peer, 7) and c.getsockname() == (own, port))
    check("with its bytes", c.recv(100, socket.MSG_DONTWAIT) == b"hello")
    check("not in repair mode", c.getsockopt(socket.IPPROTO_TCP, TCP_REPAIR) == 0)
    check("nor with the right to any port", c.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR) == 0)
    check("as the client's user", uid_of(port, 7) == os.geteuid(), uid_of(port, 7))
    again = s.ask("RESTORE", image(port, 7, rcvq=5), [shadow.fileno(), memfd(b"hello")])[0]
    check("and once only", again < 0, again)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        socket.socket.connect(c, ("0.0.0.0", 0))
    except OSError:
        pass
    try:
        c.bind((own, VICTIM))
        c.listen()
        check("the victim's port is not to be had by it", False)
    except OSError:
        check("the victim's port is not to be had by it", True)


def take(s):
    t = socket.create_connection((peer, SERVER))
    t.recv(1, socket.MSG_PEEK)
    _, port = t.getsockname()
    err, body, fds = s.ask("TAKE", b"", [t.fileno()])
    check("a connection that is still its own comes back", err == 0 and struct.unpack_from("=i", body)[0] == -errno.EBUSY, (err, body[:4]))
    check("out of repair mode", t.getsockopt(socket.IPPROTO_TCP, TCP_REPAIR) == 0 and t.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR) == 0)
    check("unharmed", t.recv(3) == b"unr")
    for fd in fds:
        os.close(fd)
    fd = t.detach()
    pid = os.fork()
    if pid == 0:
        os.read(0, 0)
        time.sleep(1)
        os._exit(0)
    s.send("TAKE", b"", [fd])
    os.close(fd)
    err, body, fds = s.answer()
    check("one that a child has comes back", err == 0 and struct.unpack_from("=i", body)[0] == -errno.EBUSY, (err, body[:4]))
    os.waitpid(pid, 0)
    closed = socket.socket()
    s.send("TAKE", b"", [closed.fileno()])
    closed.close()
    err, body, more = s.answer()
    check("one that is no connection comes back", err == 0 and struct.unpack_from("=i", body)[0] < 0, (err, body[:4]))
    for f in more:
        os.close(f)
    fd = fds[0]
    s.send("TAKE", b"", [fd])
    os.close(fd)
    err, body, fds = s.answer()
    check("a connection is read", err == 0 and struct.unpack_from("=i", body)[0] == 0, (err, body[:4]))
    check("with its bytes", err == 0 and os.pread(fds[0], 100, 0) == b"ead")
    check("and the kernel has it no more", goes(port, SERVER))


def user(uid):
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


def first():
    os.close(go[1])
    user(65533)
    s = Session().open()
    shadow, port = refusals(s)
    os.write(told[1], struct.pack("=I", port))
    os.read(go[0], 1)
    over(s)
    get(s, shadow, port)
    take(s)


# (The device is the first one's group's.)
def second():
    user(65534)
    s = Session()
    ns = os.open("/proc/self/ns/net", os.O_RDONLY)
    check("another user has a lease", s.ask("HELLO", bytes(48), [ns])[0] == 0)
    shadow, port = new_bound()
    for what, body in (("another user's connection", image(struct.unpack("=I", os.read(told[0], 4))[0], 7)), ("one without a device", image(port, 7))):
        err = s.ask("RESTORE", body, [shadow.fileno(), shadow.fileno()])[0]
        check(what, err == -errno.EPERM, err)


def run(fn):
    pid = os.fork()
    if pid == 0:
        try:
            fn()
        except BaseException as e:
            check(f"{fn.__name__}: {e!r}", False)
        os._exit(failed)
    return pid


inherited = socket.create_server((own, 0))
told, go = os.pipe(), os.pipe()
pids = [run(first), run(second)]
status = os.waitpid(pids[1], 0)[1]
os.close(go[1])
sys.exit(1 if os.waitpid(pids[0], 0)[1] or status else 0)
