# SPDX-License-Identifier: BSD-2-Clause
"""tcp_sendfile.py OWN PEER FAR FILE: sendfile and splice from files and pipes to a connection and back."""
from tcplib import *

own, peer, far = start()
size = 1500000
with open(sys.argv[4], "wb") as out:
    out.write(pattern(7, 0, size))
file = open(sys.argv[4], "rb")
folder = os.open("/", os.O_RDONLY)
sink = open(sys.argv[4] + ".out", "wb")


def backwards(s, f, r, w):
    """From the connection into a pipe: never more than the pipe has room for."""
    f.send(b"0123456789")
    arrived(s, 10)
    say("sendfile to a pipe", os.sendfile(w, s.fileno(), None, 4), os.read(r, 10), os.sendfile(w, s.fileno(), None, 100),
        os.read(r, 10))
    f.send(b"0123456789")
    arrived(s, 10)
    say("not to others", attempt(os.sendfile, s.fileno(), s.fileno(), None, 4),
        attempt(os.sendfile, sink.fileno(), s.fileno(), None, 4), attempt(os.sendfile, w, s.fileno(), 0, 4),
        attempt(os.sendfile, 999, s.fileno(), None, 4), attempt(os.splice, s.fileno(), s.fileno(), 4),
        attempt(os.splice, s.fileno(), sink.fileno(), 4), attempt(os.splice, s.fileno(), w, 0),
        attempt(os.splice, s.fileno(), w, 4, None, 0), attempt(os.splice, r, s.fileno(), 4, 0),
        os.splice(s.fileno(), w, 4), os.read(r, 10), s.recv(100))
    # The flag is about the pipe, not about the connection.
    for how in (0, 2):  # SPLICE_F_NONBLOCK
        t = threading.Timer(0.1, f.send, [b"later"])
        t.start()
        say("waits", os.splice(s.fileno(), w, 100, flags=how), os.read(r, 10))
        t.join()
    t = threading.Timer(0.1, f.send, [b"later"])
    t.start()
    say("sendfile waits", os.sendfile(w, s.fileno(), None, 100), os.read(r, 10))
    t.join()
    # A pipe that is not empty: as many bytes as fit move, and no call waits for a reader.
    os.write(w, bytes(50000))
    f.send(bytes(100000))
    arrived(s, 20000)
    n = os.splice(s.fileno(), w, 100000)
    say("what fits", 0 < n < 100000)
    have = 50000 + n
    try:
        while True:
            have += os.splice(s.fileno(), w, 100000, flags=2)
    except BlockingIOError:
        say("a full pipe")
    moved = have
    while moved < 150000 or have:
        got = len(os.read(r, 65536))
        have -= got
        if moved < 150000:
            n = os.splice(s.fileno(), w, 150000 - moved)
            moved += n
            have += n
    say("all of it", moved)
    f.send(b"ab!", socket.MSG_OOB)
    f.send(b"cd")
    settles(s, "PRI|IN")
    say("up to the mark", os.splice(s.fileno(), w, 100), os.read(r, 10))
    time.sleep(0.05)
    say("at it", attempt(os.splice, s.fileno(), w, 100), s.recv(100))


def parts(s, f):
    later = far.later(f, "drain", 7, size)
    sent = 0
    while sent < size:
        sent += os.sendfile(s.fileno(), file.fileno(), sent, size - sent)
    say("sendfile", sent, later())
    say("a piece", os.sendfile(s.fileno(), file.fileno(), 100, 5000), f.take(5000) == pattern(7, 100, 5000))
    say("at the end", os.sendfile(s.fileno(), file.fileno(), size, 10), os.sendfile(s.fileno(), file.fileno(), size - 3, 10),
        len(f.take(3)))
    wrong = ctypes.c_long(-1)
    say("from nowhere", raw("sendfile", s.fileno(), file.fileno(), ctypes.byref(wrong), 10))
    say("a directory", attempt(os.sendfile, s.fileno(), folder, 0, 10))
    os.lseek(file.fileno(), 10, os.SEEK_SET)
    say("by position", os.sendfile(s.fileno(), file.fileno(), None, 20), os.lseek(file.fileno(), 0, os.SEEK_CUR),
        f.take(20) == pattern(7, 10, 20))
    r, w = os.pipe()
    os.write(w, b"through a pipe")
    say("splice out", os.splice(r, s.fileno(), 100), f.take(14))
    f.send(b"back by a pipe")
    arrived(s, 14)
    say("splice in", os.splice(s.fileno(), w, 100), os.read(r, 100))
    f.send(b"flags")
    arrived(s, 5)
    say("what is no flag", [attempt(os.splice, s.fileno(), w, 10, None, None, flags) for flags in (16, 1 << 20)],
        [attempt(os.splice, r, s.fileno(), 10, None, None, flags) for flags in (16, 1 << 20)], s.recv(10))
    later = far.later(f, "pour", 8, 400000)
    got = b""
    while len(got) < 400000:
        n = os.splice(s.fileno(), w, 65536)
        if not n:
            break
        while n:
            piece = os.read(r, n)
            got += piece
            n -= len(piece)
    say("much of it", got == pattern(8, 0, 400000), later())
    backwards(s, f, r, w)
    s.setblocking(False)
    say("nothing there", attempt(os.splice, s.fileno(), w, 10))
    say("sendfile from it", attempt(os.sendfile, w, s.fileno(), None, 10))
    n = 0
    try:
        while True:
            n += os.sendfile(s.fileno(), file.fileno(), 0, size)
    except BlockingIOError:
        pass
    say("full", n > 0)
    s.setblocking(True)
    say("all of that comes", f.skip(n) == n)
    f.shutdown(socket.SHUT_WR)
    settles(s, "RDHUP")
    say("end", os.splice(s.fileno(), w, 10))
    s.send(b"afterwards")
    say("works", f.take(10))
    s.shutdown(socket.SHUT_WR)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    say("shut", attempt(os.sendfile, s.fileno(), file.fileno(), 0, 10), attempt(os.splice, r, s.fileno(), 10)
        if os.write(w, b"x") else None, os.read(r, 10))
    os.close(r)
    os.close(w)


for name, s, f in both_ways(own, peer, far, 7000):
    say(name)
    parts(s, f)
    s.close()
    f.close()
s, f = pair(own, peer, far, 7000)
r, w = os.pipe()
os.write(w, b"stays")
f.close_reset()
settles(s, "ERR")
say("reset", attempt(os.splice, r, s.fileno(), 100), attempt(os.splice, r, s.fileno(), 3), os.read(r, 10))
for what in ("splice in", "splice out", "sendfile out", "sendfile in", "a full pipe", "an empty one", "shut"):
    s, f = pair(own, peer, far, 7000)  # connect(AF_UNSPEC) leaves an error to the socket, which comes before all else
    disconnect(s)
    a, b = os.pipe2(os.O_NONBLOCK)
    if what == "shut":
        attempt(s.shutdown, socket.SHUT_RDWR)
    if what in ("splice in", "shut"):
        say(what, attempt(os.splice, s.fileno(), b, 10), attempt(os.splice, s.fileno(), b, 10))
    elif what == "splice out":
        os.write(b, b"stays")
        say(what, attempt(os.splice, a, s.fileno(), 3), os.read(a, 10))
    elif what == "sendfile out":
        say(what, attempt(os.sendfile, s.fileno(), file.fileno(), size, 10), attempt(os.sendfile, s.fileno(), file.fileno(), 0, 10))
    elif what == "sendfile in":
        say(what, attempt(os.sendfile, b, s.fileno(), None, 10))
    elif what == "a full pipe":
        os.write(b, bytes(65536))
        say(what, attempt(os.splice, s.fileno(), b, 10, None, None, 2))
    else:
        say(what, attempt(os.splice, a, s.fileno(), 10, None, None, 2))
    say("then", s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
    for x in (a, b):
        os.close(x)
    s.close()
    f.close()
# The kernel can read files of /proc and cannot send them: the program reads them then.
s, f = pair(own, peer, far, 7000)
status = os.open("/proc/self/status", os.O_RDONLY)
say("a file of /proc", attempt(os.sendfile, s.fileno(), status, 0, 3000), attempt(os.sendfile, s.fileno(), status, None, 3000),
    os.lseek(status, 0, os.SEEK_CUR))
s.send(b"afterwards")
say("works", f.take(10))
say("done")
