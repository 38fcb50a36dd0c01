# SPDX-License-Identifier: BSD-2-Clause
"""tcp_queued.py server OWN PORT FILE HOW | storm OWN PORT | client PEER PORT | connect PEER PORT FILE: a server that
leaves connections in its queue until the file exists, and clients that wait there after they have sent bytes. Then
another process gets the listener, too (HOW: spawn, fork, pass), or it does not (rule). A server that
never has an empty queue, and clients that connect until the file exists."""
import subprocess
import threading

from tcplib import *

faulthandler.cancel_dump_traceback_later()
COUNT, BYTES, CLIENTS = 5, 3000, 12


def serve(ls, pause=0.0):
    while True:
        conn, _ = ls.accept()
        time.sleep(pause)
        conn.sendall(take(conn, BYTES))
        conn.close()


def share(ls, how):
    """Gives the listener to another process, too; returns when that has it."""
    if how == "spawn":
        subprocess.run(["true"], pass_fds=[ls.fileno()], check=True)
    elif how == "fork":
        pid = os.fork()
        if pid == 0:
            ls.getsockname()
            os._exit(0)
        os.waitpid(pid, 0)
    elif how == "pass":
        here, there = socket.socketpair()
        socket.send_fds(here, [b"x"], [ls.fileno()])
        socket.recv_fds(there, 1, 1)


def server(own, port, path, how):
    ls = tcp(own, port, 100)
    while not os.path.exists(path):
        time.sleep(0.05)
    share(ls, how)
    serve(ls)


def client(peer, port):
    conns = [tcp(six=is6(peer)) for _ in range(COUNT)]
    for i, s in enumerate(conns):
        s.connect((peer, port))
        s.sendall(bytes([i]) * BYTES)
    say("waiting")
    good = [take(s, BYTES) == bytes([i]) * BYTES for i, s in enumerate(conns)]
    say("answered", good)
    sys.exit(not all(good))


def connect(peer, port, path):
    wrong = []
    count = [0] * CLIENTS

    def run(i):
        while not os.path.exists(path):
            try:
                with tcp(six=is6(peer)) as s:
                    s.connect((peer, port))
                    s.sendall(bytes([i]) * BYTES)
                    if take(s, BYTES) != bytes([i]) * BYTES:
                        raise OSError("wrong bytes")
            except OSError as e:
                wrong.append(str(e))
            count[i] += 1
            if sum(count) == 2 * CLIENTS:
                say("under way")

    threads = [threading.Thread(target=run, args=(i,)) for i in range(CLIENTS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    say(sum(count), "connections, wrong:", wrong)
    sys.exit(bool(wrong))


what, host, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
if what == "server":
    server(host, port, sys.argv[4], sys.argv[5])
elif what == "storm":
    serve(tcp(host, port, 100), 0.002)
elif what == "connect":
    connect(host, port, sys.argv[4])
client(host, port)
