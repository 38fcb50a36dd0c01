# SPDX-License-Identifier: BSD-2-Clause
"""fork.py OWN PEER PORT: parent and child both stay sound. A reflector is at PEER PORT."""
from netlib import *

own, peer, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
to = (peer, port)


def in_child(work):
    """Runs a function in a child and returns what the child printed, or its status."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(r)
            os.write(w, repr(work()).encode())
            os._exit(0)
        except BaseException as e:
            os.write(w, repr(e).encode())
            os._exit(1)
    os.close(w)
    out = b""
    while True:
        part = os.read(r, 4096)
        if not part:
            break
        out += part
    os.close(r)
    status = os.waitpid(pid, 0)[1]
    return out.decode() + (f" status {status}" if status else "")


def asked(s, n=20):
    return sum(ask(s, to)["len"] == 2 for _ in range(n))


s = udp(own)
say("before", asked(s))
say("child with a new socket", in_child(lambda: asked(udp(own))))
say("parent after it", asked(s))
c = udp(own)
c.connect(to)


def inherited():
    for _ in range(20):
        c.send(b"from the child")
        assert c.recv(100) == b"from the child"
    return "fine"


say("parent connected", ask(c, None)["len"])
say("child with an inherited socket", in_child(inherited))
say("parent after it", asked(s))


def grandchild():
    return in_child(lambda: asked(udp(own)))


say("grandchild", in_child(grandchild))
say("parent after it", asked(s))

# Parent and child at the same time, each with a socket of its own.
r, w = os.pipe()
pid = os.fork()
if pid == 0:
    s.close()
    t = udp(own)
    os.write(w, b"%d" % asked(t, 200))
    os._exit(0)
say("parent beside the child", asked(s, 200))
say("child beside the parent", os.read(r, 100), os.waitpid(pid, 0)[1])
# exec: the new program starts anew.
pid = os.fork()
if pid == 0:
    os.execv(sys.executable, [sys.executable, os.path.dirname(sys.argv[0]) + "/basic.py", own, peer,
                              str(port)])
say("exec", os.waitpid(pid, 0)[1])
say("the parent is still well", asked(s))
os._exit(0)
