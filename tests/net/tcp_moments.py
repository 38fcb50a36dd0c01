# SPDX-License-Identifier: BSD-2-Clause
"""tcp_moments.py OWN PEER FAR SILENT: a connection with bytes in all its queues goes on in another process, in
another program, at another descriptor number, or with an option that only the kernel knows. No host answers at
SILENT.

As `tcp_moments.py heir FD UNREAD TOTAL HOW` it is that other program."""
import subprocess

from tcplib import *

UNREAD, UNSEEN, TOTAL = 30000, 20000, 150000


def heir(s, unread, total, how):
    """The work of the process that has the connection now."""
    if how == "names":
        say("  names", s.getsockname()[0], attempt(lambda: s.getpeername()[0]), so_error(s))
    say("  unread", drain(s, 3, unread))
    if total:
        say("  traffic", swap(s, 5, 6, total))
        s.shutdown(socket.SHUT_WR)
    say("  end", to_end(s))
    s.close()


if sys.argv[1] == "heir":
    what = sys.argv[2]
    if what.startswith("@"):  # the descriptor comes by SCM_RIGHTS, from that socket
        u = socket.socket(socket.AF_UNIX)
        u.connect(what[1:])
        fds = socket.recv_fds(u, 1, 1)[1]
        s = socket.socket(fileno=fds[0])
    else:
        s = socket.socket(fileno=int(what))
    s.setblocking(True)
    if sys.argv[5] == "listener":
        f, _ = s.accept()
        s.close()
        s = f
    heir(s, int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
    sys.exit()

if sys.argv[1] == "self":  # becomes the heir itself
    own, peer, port, cloexec = sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5]
    s = tcp(six=is6(peer))
    s.connect((peer, port))
    other = tcp(six=is6(peer))  # is closed by execve, with bytes on the way
    other.connect((peer, port))
    swap(s, 1, 2, 60000)
    s.sendall(b"!" + pattern(4, 0, UNSEEN))
    arrived(s, UNREAD)
    other.sendall(pattern(7, 0, 300000))
    s.set_inheritable(True)
    sys.stdout.flush()
    try:
        os.execv("/nonexistent/program", ["x"])
    except OSError:
        pass
    os.execv(sys.executable, [sys.executable, sys.argv[0], "heir", str(s.fileno()), str(UNREAD),
                              str(TOTAL), "names"])

own, peer, far = start()
silent = sys.argv[4]
listener = far.tcp(peer, 7000, 50)


def connection(by_accept):
    if not by_accept:
        s = tcp(six=is6(peer))
        s.connect((peer, 7000))
        return s, listener.accept()[0]
    mine = tcp(own, 0, 5)
    f = far.tcp(six=is6(peer))
    done = far.later(f, "connect", (own, mine.getsockname()[1]))
    s, _ = mine.accept()
    done()
    mine.close()
    return s, f


def loaded(by_accept):
    """A connection with unread bytes at both ends."""
    s, f = connection(by_accept)
    theirs = far.later(f, "swap", 2, 1, 60000)
    swap(s, 1, 2, 60000)
    theirs()
    far.call("pour", f, 3, UNREAD)
    arrived(s, UNREAD)
    s.sendall(pattern(4, 0, UNSEEN))
    return s, f


def far_goes_on(f):
    """Starts the far end of heir(), in a thread of the far host."""
    return far.later(f, "other_end", UNSEEN, TOTAL)


def program(s, fd=None, how="names"):
    return [sys.executable, sys.argv[0], "heir", str(s.fileno() if fd is None else fd),
            str(UNREAD), str(TOTAL), how]


def fork_exec(s):
    """The parent keeps its copy while the child's program uses it."""
    s.set_inheritable(True)
    pid = os.fork()
    if pid == 0:
        os.execv(sys.executable, program(s))
    return lambda: os.waitpid(pid, 0)[1]


def fork_use(s):
    pid = os.fork()
    if pid == 0:
        heir(s, UNREAD, TOTAL, "names")
        sys.stdout.flush()
        os._exit(0)
    s.close()
    return lambda: os.waitpid(pid, 0)[1]


def spawn_vfork(s):
    p = subprocess.Popen(program(s), pass_fds=[s.fileno()])
    return p.wait


def spawn_stdin(s):
    p = subprocess.Popen(program(s, 0), stdin=s)
    s.close()
    return p.wait


def posix_spawn(s):
    pid = os.posix_spawn(sys.executable, program(s, 0), os.environ,
                         file_actions=[(os.POSIX_SPAWN_DUP2, s.fileno(), 0)])
    return lambda: os.waitpid(pid, 0)[1]


def posix_spawn_inherits(s):
    s.set_inheritable(True)
    pid = os.posix_spawn(sys.executable, program(s), os.environ)
    return lambda: os.waitpid(pid, 0)[1]


def shell(s):
    s.set_inheritable(True)
    t = threading.Thread(target=os.system, args=(" ".join(program(s)),))
    t.start()
    return t.join


def rights(s, env):
    path = f"/tmp/moments.{os.getpid()}"
    u = socket.socket(socket.AF_UNIX)
    u.bind(path)
    u.listen(1)
    p = subprocess.Popen(program(s, "@" + path), env=env)
    c, _ = u.accept()
    socket.send_fds(c, [b"x"], [s.fileno()])
    s.close()
    c.close()
    u.close()
    os.unlink(path)
    return p.wait


def rights_preloaded(s):
    return rights(s, dict(os.environ))


def rights_plain(s):
    return rights(s, {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"})


def here(s):
    heir(s, UNREAD, TOTAL, "names")
    return lambda: 0


def dup2_over(s):
    """dup2() onto the number of another connection, then the first number is closed."""
    other, f = connection(False)
    os.dup2(s.fileno(), other.fileno())
    s.close()
    say("  the other one ended", far.call("to_end", f))
    f.close()
    return here(other)


def dup_low(s):
    t = socket.socket(fileno=fcntl.fcntl(s, fcntl.F_DUPFD, 100))
    s.close()
    return here(t)


def option(s):
    """Sets IP_MINTTL or IPV6_MINHOPCOUNT, which are not done in user space."""
    if is6(peer):
        s.setsockopt(socket.IPPROTO_IPV6, 73, 1)
    else:
        s.setsockopt(socket.IPPROTO_IP, 21, 1)
    return here(s)


def unknown_option(s):
    say("  no such option", attempt(s.setsockopt, TCP, 250, 1))
    return here(s)


def stream_file(s):
    with os.fdopen(os.dup(s.fileno()), "rb", closefd=True):
        pass
    return here(s)


WAYS = [fork_exec, fork_use, spawn_vfork, spawn_stdin, posix_spawn, posix_spawn_inherits, shell,
        rights_preloaded, rights_plain, dup2_over, dup_low, option, unknown_option, stream_file]

for i, way in enumerate(WAYS):
    s, f = loaded(i % 2 == 1)
    say(way.__name__)
    sys.stdout.flush()
    if way not in (dup2_over, dup_low, option, unknown_option, stream_file):
        wait = way(s)
        going = far_goes_on(f)
    else:
        going = far_goes_on(f)
        wait = way(s)
    status = wait()
    say("  status", status if isinstance(status, int) else 0)
    s.close()
    say("  far", going())

# This program becomes another by execve, which keeps one connection and closes one.
p = subprocess.Popen([sys.executable, sys.argv[0], "self", own, peer, "7000", "1"])
f, _ = listener.accept()
g, _ = listener.accept()
theirs = far.later(f, "swap", 2, 1, 60000)
say("self", theirs(), far.call("take", f, 1))
far.call("pour", f, 3, UNREAD)
going = far_goes_on(f)
status = p.wait()
say("  what was closed came whole", far.call("drain", g, 7, 300000), far.call("to_end", g))
say("  far", going(), status)

# Connections that have ended: both FINs have passed, or a reset has come, and a child reads the rest.
for how in ("ended", "reset"):
    for way in (fork_exec, fork_use, spawn_vfork, rights_plain):
        s, f = connection(way is spawn_vfork)
        far.call("pour", f, 3, UNREAD)
        arrived(s, UNREAD)
        if how == "ended":
            s.shutdown(socket.SHUT_WR)
            say(how, way.__name__, far.call("to_end", f))
            f.close()
            becomes(s, "CLOSE", 1)
        else:
            say(how, way.__name__)
            far.call("close_reset", f)
            becomes(s, "CLOSE")
        sys.stdout.flush()
        keep, TOTAL = TOTAL, 0
        wait = way(s)
        status = wait()
        say("  status", status)
        TOTAL = keep
        s.close()

# Connections that are still connecting: to a peer that answers, and to one that does not.
s = tcp(six=is6(peer))
s.setblocking(False)
say("connecting", raw_connect(s, peer, 7000))
f, _ = listener.accept()
far.call("pour", f, 3, UNREAD)
sys.stdout.flush()
going = far.later(f, "other_end", 0, TOTAL)
wait = fork_exec(s)
say("  status", wait())
s.close()
say("  far", going())
s = tcp(six=is6(peer))
s.setblocking(False)
say("silent", raw_connect(s, silent, 7000))
u, v = socket.socketpair()
socket.send_fds(u, [b"x"], [s.fileno()])
say("  sent on", state(s), raw_connect(s, silent, 7000), polled(s))
s.close()
u.close()
v.close()

# A child is given the listener.
mine = tcp(own, 7200, 5)
sys.stdout.flush()
mine.set_inheritable(True)
p = subprocess.Popen(program(mine, how="listener"), pass_fds=[mine.fileno()])
time.sleep(0.7)
f = far.tcp(six=is6(peer))
f.connect((own, 7200))
far.call("pour", f, 3, UNREAD)
going = far.later(f, "other_end", 0, TOTAL)
say("listener", p.wait(), going())
