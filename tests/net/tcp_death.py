# SPDX-License-Identifier: BSD-2-Clause
"""What its peers see when a program dies, in each state of a connection.

  tcp_death.py subject OWN PEER CAUSE     has the connections, and dies when it is told to
  tcp_death.py peer OWN PEER CGROUP       the peers, on the kernel: prints how each connection ended
  tcp_death.py again OWN                  can the dead program's port be used again?
  tcp_death.py brief OWN ASKS             has one connection, and dies when it is told to; ASKS 1: with a byte unread,
  after a keepalive probe
  tcp_death.py same OWN PEER ASKS         the peer of that one, always from the same port

The cause: kill (SIGKILL), segv, exit (at once, while another thread is in a call), oom (by the
memory of CGROUP, "-": there is none)."""
import ctypes
import errno
import os
import signal
import socket
import sys
import threading
import time

PORT = int(os.environ["TCP_DEATH_PORT"])
STATES = ["idle", "unread", "peer has shut down", "we have shut down"]
what, own = sys.argv[1:3]
peer = sys.argv[3] if len(sys.argv) > 3 else None
family = socket.AF_INET6 if ":" in own else socket.AF_INET


def server(port):
    return socket.create_server((own, port), family=family)


def die(cause, idle):
    if cause == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif cause == "segv":
        ctypes.string_at(0)
    elif cause == "exit":
        threading.Thread(target=idle.recv, args=(1,), daemon=True).start()
        time.sleep(0.1)
        os._exit(0)
    held = []
    while True:
        held.append(b"x" * (1 << 20))


def subject(cause):
    s = server(PORT)
    held = {}
    for name in STATES:
        held[name] = s.accept()[0]
        held[name].sendall(b"%8d" % os.getpid())
    held["we have shut down"].shutdown(socket.SHUT_WR)
    assert held["peer has shut down"].recv(1) == b""
    client = socket.create_connection((peer, PORT + 1))
    client.sendall(b"%8d" % os.getpid())
    control = s.accept()[0]
    assert control.recv(3) == b"die"
    time.sleep(0.3)  # acknowledgments go out
    die(cause, held["idle"])


def connect():
    until = time.monotonic() + 30
    while True:
        try:
            return socket.create_connection((peer, PORT))
        except ConnectionRefusedError:
            assert time.monotonic() < until
            time.sleep(0.02)


def end_of(c, name):
    c.settimeout(20)
    try:
        if name == "we have shut down":  # its FIN has come: how it answers bytes shows the state
            c.sendall(b"x")
            time.sleep(0.3)
            c.sendall(b"x")
            return "bytes are taken"
        return "end" if c.recv(1) == b"" else "data"
    except (ConnectionResetError, BrokenPipeError):
        return "reset"
    except TimeoutError:
        return "nothing"


def watch(cgroup):
    s = server(PORT + 1)
    conns = {}
    for name in STATES:
        conns[name] = connect()
        pid = int(conns[name].recv(8, socket.MSG_WAITALL))
    conns["unread"].sendall(b"unread")
    conns["peer has shut down"].shutdown(socket.SHUT_WR)
    assert conns["we have shut down"].recv(1) == b""
    conns["it is a client"] = s.accept()[0]
    conns["it is a client"].recv(8, socket.MSG_WAITALL)
    conns["the last"] = connect()
    conns["not accepted"] = connect()
    if cgroup != "-":
        with open(cgroup + "/tasks", "w") as f:
            f.write(str(pid))
    died = os.pidfd_open(pid)
    conns["the last"].sendall(b"die")
    import select
    select.select([died], [], [], 20)
    at = time.monotonic()
    ends = {name: end_of(c, name) for name, c in conns.items() if name != "we have shut down"}
    took = time.monotonic() - at
    ends["we have shut down"] = end_of(conns["we have shut down"], "we have shut down")
    for name in sorted(ends):
        print(f"{name}: {ends[name]}")
    print(f"told within {took * 1000:.1f} ms", file=sys.stderr)
    for c in conns.values():
        c.close()


def again():
    """Can the port be bound now?"""
    for reuse in 0, 1:
        with socket.socket(family) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
            try:
                s.bind((own, PORT))
                s.listen()
                print(f"again, SO_REUSEADDR {reuse}: yes")
            except OSError as e:
                print(f"again, SO_REUSEADDR {reuse}: {errno.errorcode[e.errno]}")


def brief(asks):
    c = server(PORT).accept()[0]
    c.sendall(b"x")
    assert c.recv(1) == b"x"
    if asks:
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
        c.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        time.sleep(1.3)
    else:
        c.sendall(bytes(100))
    os.kill(os.getpid(), signal.SIGKILL)


def same(asks):
    """Where the dead program's kernel keeps a TIME_WAIT, the next connection uses the same ports."""
    until = time.monotonic() + 30
    while True:
        c = socket.socket(family)
        c.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        c.bind((own, PORT + 2))
        try:
            c.connect((peer, PORT))
            break
        except ConnectionRefusedError:
            assert time.monotonic() < until
            time.sleep(0.02)
    c.settimeout(20)
    assert c.recv(1) == b"x"
    c.sendall(b"xx" if asks else b"x")
    try:
        while c.recv(100):
            pass
        print("told")
    except ConnectionResetError:
        print("told")
    except TimeoutError:
        print("nothing")


if what == "subject":
    subject(sys.argv[4])
elif what == "brief":
    brief(int(sys.argv[3]))
elif what == "same":
    same(int(sys.argv[4]))
elif what == "peer":
    watch(sys.argv[4])
else:
    again()
