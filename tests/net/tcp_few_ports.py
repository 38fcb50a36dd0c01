# SPDX-License-Identifier: BSD-2-Clause
"""tcp_few_ports.py OWN PEER FAR: connections to ten ports of a peer, with ten local ports: each of these serves each
peer once, also after bind(2) with IP_BIND_ADDRESS_NO_PORT, and the next connection finds none. Connections that another
program has by the kernel count, too; those that are over do not, whether they ended here or in the kernel. Threads that
connect together find all there are."""
import subprocess
import threading

from tcplib import *

own, peer, far = start()
IP_BIND_ADDRESS_NO_PORT = 24
PEERS = range(7000, 7010)
PLAIN = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
STRANGER = """
import socket, struct, sys
kept = []
for _ in range(10):
    s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.connect((sys.argv[1], 7020))
    kept.append(s)
print("there", flush=True)
sys.stdin.readline()
print([s.recv(1) for s in kept], flush=True)
"""
TAKER = """
import socket, sys
s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind((sys.argv[1], int(sys.argv[2])))
"""
listeners = [far.tcp(peer, port, 50) for port in PEERS]


def connect(port, bound):
    s = tcp(six=is6(peer))
    if bound:
        s.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        s.bind((own, 0))
    return s, raw_connect(s, peer, port)


def together():
    """Eight threads make the hundred connections."""
    todo, kept = [port for _ in range(10) for port in PEERS], []

    def run():
        while True:
            try:
                port = todo.pop()
            except IndexError:
                return
            s, err = connect(port, False)
            s.setsockopt(SOL, socket.SO_KEEPALIVE, 1)
            kept.append((s, err))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    names = [(s.getsockname()[1], s.getpeername()[1]) for s, err in kept if not err]
    say("together", len(names), len(set(names)), sum(s.getsockopt(SOL, socket.SO_REUSEADDR) for s, _ in kept))
    for s, _ in kept:
        s.setsockopt(SOL, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
    for ls in listeners:
        for _ in range(sum(port == ls.getsockname()[1] for _, port in names)):
            ls.accept()[0].close()


ls, ls2 = far.tcp(peer, 7020, 50), far.tcp(peer, 7021, 50)
stranger = subprocess.Popen([sys.executable, "-c", STRANGER, peer], env=PLAIN, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True)
say("another program", stranger.stdout.readline().strip())
theirs = [ls.accept()[0] for _ in range(10)]
s, err = connect(7020, False)
say("with the same peer", err)
s.close()
s, err = connect(7021, False)
say("with another peer", err)
ls2.accept()[0].close_reset()
attempt(s.recv, 1)
s.close()
for f in theirs:
    f.send(b"x")
print(file=stranger.stdin, flush=True)
say("it still has", stranger.stdout.readline().strip())
stranger.wait()
ls.close()
ls2.close()

for _ in range(3):
    together()

for bound in (False, True):
    kept = [connect(port, bound) for _ in range(10) for port in PEERS]
    names = [(s.getsockname()[1], s.getpeername()[1]) for s, err in kept if not err]
    say("bound" if bound else "not bound", len(names), len(set(names)), len({own for own, _ in names}))
    say("one more", connect(7000, bound)[1])
    listening = tcp(six=is6(peer))
    say("its port is taken", attempt(listening.bind, (own, names[0][0])))
    listening.setsockopt(SOL, socket.SO_REUSEADDR, 1)
    say("also for SO_REUSEADDR", attempt(listening.bind, (own, names[0][0])), attempt(listening.listen, 1))
    say("option", [s.getsockopt(SOL, socket.SO_REUSEADDR) for s, _ in kept[:2]])
    for s, _ in kept[3::10] + kept[4::10] if bound else ():  # (these become the kernel's, with ports that others of ours have)
        s.setsockopt(SOL, socket.SO_DONTROUTE, 1)
    for s, _ in kept:
        s.send(b"%5d" % s.getsockname()[1])
    ok = 0
    for ls in listeners:
        for _ in range(10):
            f, name = ls.accept()
            ok += (name[1], ls.getsockname()[1]) in names and f.take(5) == b"%5d" % name[1]
            f.close_reset()
    say("as the peer sees them", ok)
    for s, _ in kept:  # (the peer has reset them all)
        attempt(s.recv, 1)
        s.close()
    listening.close()
    again = [connect(port, False) for _ in range(10) for port in PEERS]  # (some were the kernel's at last)
    say("all of them again", sum(not err for _, err in again))
    for ls in listeners:
        for _ in range(10):
            ls.accept()[0].close_reset()
    for s, _ in again:
        attempt(s.recv, 1)
        s.close()
    alone, err = connect(7000, bound)
    taken = subprocess.run([sys.executable, "-c", TAKER, own, str(alone.getsockname()[1])], env=PLAIN, capture_output=True,
                           text=True)
    say("a port that it alone has", err, taken.stderr.strip().split("\n")[-1])
    f, _ = listeners[0].accept()
    f.close_reset()
    attempt(alone.recv, 1)
    alone.close()
for ls in listeners:
    ls.close()
say("done")
