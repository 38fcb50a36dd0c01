# SPDX-License-Identifier: BSD-2-Clause
"""udp_lent.py serve ADDRESS PORT: sends N numbered datagrams to each that asks (N, microseconds between two).
udp_lent.py child FD FIRST N MARK: reads N datagrams from FD, says whether they came in order, and makes the file MARK.
udp_lent.py rest OWN PEER PORT: a program has the socket and leaves it alone; datagrams come while the claims go.
udp_lent.py OWN PEER PORT MARK: programs that get a datagram socket while datagrams wait in it, or come."""
import os
import select
import socket
import struct
import subprocess
import sys
import threading
import time

from netlib import say, udp

SELF = [sys.executable, "-EB", os.path.abspath(__file__)]
STREAM, PAUSE_US = 200, 1000
STORM, STORM_US = 4000, 100
SO_RCVBUFFORCE = 33
MARK = None  # a file that a child makes when it has read


def serve(address, port):
    s = udp(address, port)
    while True:
        ask, who = s.recvfrom(100)
        n, us = struct.unpack("II", ask)
        for i in range(n):
            s.sendto(struct.pack("I", i), who)
            time.sleep(us / 1e6)


def numbers(s, n):
    """The numbers of the next n datagrams; fewer, if they do not come."""
    got = []
    while len(got) < n and select.select([s], [], [], 10)[0]:
        got.append(struct.unpack("I", s.recv(100))[0])
    return got


def wrong(got, first):
    """The first of them that is not what it should be, and those around it."""
    at = next((i for i, n in enumerate(got) if n != first + i), len(got))
    return f"at {at}: {got[max(0, at - 3):at + 20]}"


def verdict(got, first, n):
    return "in order" if got == list(range(first, first + n)) else f"{len(got)} of {n}: {wrong(got, first)}"


def child(fd, first, n, mark):
    s = socket.socket(fileno=fd)
    say("child:", verdict(numbers(s, n), first, n))
    open(mark, "w").close()
    sys.stdin.read()  # it has the socket until its parent says so
    s.detach()


# How a program is started ---------------------------------------------------------------------------
def argv(fd, *args):
    return [*SELF, "child", str(fd), *map(str, args), MARK]


def wait_mark():
    end = time.monotonic() + 20
    while not os.path.exists(MARK) and time.monotonic() < end:
        time.sleep(0.002)
    os.unlink(MARK)


def by_fork(fd, args, env=None):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(r, 0)
        os.set_inheritable(fd, True)
        os.execve(sys.executable, argv(fd, *args), env or os.environ)
    os.close(r)
    return lambda: (os.close(w), os.waitpid(pid, 0))


def by_fork_native(fd, args):
    return by_fork(fd, args, {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"})


def by_vfork(fd, args):
    p = subprocess.Popen(argv(fd, *args), pass_fds=[fd], stdin=subprocess.PIPE)
    return lambda: (p.stdin.close(), p.wait())


def by_spawn(fd, args):
    r, w = os.pipe()
    os.set_inheritable(fd, True)
    pid = os.posix_spawn(sys.executable, argv(fd, *args), os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, r, 0)])
    os.set_inheritable(fd, False)
    os.close(r)
    return lambda: (os.close(w), os.waitpid(pid, 0))


def by_system(fd, args):
    os.set_inheritable(fd, True)
    os.system(" ".join(argv(fd, *args)) + " </dev/null")
    os.set_inheritable(fd, False)
    return lambda: None


def by_kernel():
    """Datagrams that the kernel has delivered here."""
    with open("/proc/net/snmp") as f:
        names, values = [line.split() for line in f if line.startswith("Udp: ")]
    return int(values[names.index("InDatagrams")])


def ask(s, peer, n, us=0):
    s.sendto(struct.pack("II", n, us), peer)


def is_ours(s, peer):
    before = by_kernel()
    ask(s, peer, 20)
    got = numbers(s, 20)
    return got == list(range(20)) and by_kernel() - before < 5


def becomes_ours(s, peer):
    end = time.monotonic() + 20
    while not is_ours(s, peer):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def storm(s, peer, preloaded):
    """Programs are started all the time that leave it alone."""
    over = threading.Event()

    def starts():
        while not over.is_set():
            os.system("sleep 0.01")  # (other threads run meanwhile)

    os.set_inheritable(s.fileno(), True)
    before = by_kernel()
    thread = threading.Thread(target=starts)
    thread.start()
    ask(s, peer, STORM, STORM_US)
    say("storm:", verdict(numbers(s, STORM), 0, STORM))
    moved = by_kernel() - before
    over.set()
    thread.join()
    os.set_inheritable(s.fileno(), False)
    if preloaded:
        say("storm, the calls took what came:", moved < STORM // 2)
        time.sleep(0.2)  # (if it is still lent its claims go meanwhile)
        say("storm, ours again:", becomes_ours(s, peer))


def options(s, peer, preloaded):
    """A program sets an option; this one sees its effect on what comes here."""
    level, name = (socket.IPPROTO_IPV6, 49) if s.family == socket.AF_INET6 else (socket.IPPROTO_IP, 8)
    code = "import socket,sys; socket.socket(fileno=0).setsockopt(*map(int, sys.argv[1:]), 1)"
    subprocess.run([sys.executable, "-ESc", code, str(level), str(name)], stdin=s, check=True)
    if preloaded:
        time.sleep(0.2)
        say("option, ours again:", becomes_ours(s, peer))
    ask(s, peer, 1)
    data, ctl = s.recvmsg(100, 200)[:2]
    say("packet info:", verdict([data[0], len(ctl)], 0, 2))


def rest(own, peer):
    s = udp(own, 7077)
    ask(s, peer, 1)
    numbers(s, 1)
    for i in range(12):
        becomes_ours(s, peer)
        with subprocess.Popen(["/bin/cat"], pass_fds=[s.fileno()], stdin=subprocess.PIPE) as p:
            ask(s, peer, 20)
            got = numbers(s, 20)
            time.sleep(0.1 + i * 0.003)  # (the claims go when 100 ms have passed)
            before = by_kernel()
            ask(s, peer, 100, 500)
            time.sleep(0.04)
            got += numbers(s, 100)
            say("rest:", verdict(got, 0, 120) if got[20:] == [] else verdict(got[:20], 0, 20),
                verdict(got[20:], 0, 100))
            kernels = by_kernel() - before
            say("some by each:", 0 < kernels < 100)
            p.stdin.close()


def subject(own, peer, preloaded):
    s = udp(own, 7077)
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE if os.geteuid() == 0 else socket.SO_RCVBUF, 1 << 20)
    if preloaded:
        say("at first:", becomes_ours(s, peer))
    for how in (by_fork, by_fork_native, by_vfork, by_spawn, by_system):
        ask(s, peer, 50)
        select.select([s], [], [], 10)
        end = how(s.fileno(), (0, 50))
        wait_mark()
        ask(s, peer, 20)  # both may read: the other one does not
        say(how.__name__, "parent:", verdict(numbers(s, 20), 0, 20))
        end()
        if preloaded:
            say(how.__name__, "ours again:", becomes_ours(s, peer))
    # A program is started while datagrams come.
    for how in (by_fork, by_vfork):
        ask(s, peer, STREAM, PAUSE_US)
        time.sleep(STREAM / 3 * PAUSE_US / 1e6)
        end = how(s.fileno(), (0, STREAM))
        wait_mark()
        end()
        if preloaded:
            say(how.__name__, "ours after a stream:", becomes_ours(s, peer))
    storm(s, peer, preloaded)
    options(s, peer, preloaded)
    # A program that does not get the socket takes nothing away.
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(r, 0)
        os.execv("/bin/cat", ["cat"])
    time.sleep(0.1)
    if preloaded:
        say("closed on exec, still ours:", is_ours(s, peer))
    os.close(r)
    os.close(w)
    os.waitpid(pid, 0)


if sys.argv[1] == "serve":
    serve(sys.argv[2], int(sys.argv[3]))
elif sys.argv[1] == "rest":
    rest(sys.argv[2], (sys.argv[3], int(sys.argv[4])))
elif sys.argv[1] == "child":
    child(*map(int, sys.argv[2:5]), sys.argv[5])
else:
    MARK = sys.argv[4]
    subject(sys.argv[1], (sys.argv[2], int(sys.argv[3])), "LD_PRELOAD" in os.environ)
