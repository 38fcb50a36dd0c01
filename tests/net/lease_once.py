# SPDX-License-Identifier: BSD-2-Clause
# A program whose sockets are opened as they are asked for.
# Usage: lease_once.py ADDRESS PORT
# Echoes UDP and TCP at PORT, each in a thread of its own; on SIGUSR1 at the next port, too; on SIGUSR2 a child does so,
# 100 ports above. Ends by SIGTERM, in its ordinary way.
import os, signal, socket, sys, threading

addr, port = sys.argv[1], int(sys.argv[2])
SIGNALS = {signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM}


def udp(s):
    while True:
        data, peer = s.recvfrom(65536)
        s.sendto(data, peer)


def echo(c):
    try:
        while data := c.recv(65536):
            c.sendall(data)
    except ConnectionError:
        pass
    c.close()


def tcp(s):
    while True:
        c = s.accept()[0]
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=echo, args=(c,), daemon=True).start()


def serve(at):
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.bind((addr, at))
    threading.Thread(target=udp, args=(u,), daemon=True).start()
    threading.Thread(target=tcp, args=(socket.create_server((addr, at)),), daemon=True).start()


signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
serve(port)
while True:
    got = signal.sigwait(SIGNALS)
    if got == signal.SIGTERM:
        sys.exit(0)
    port += 1
    if got == signal.SIGUSR2 and os.fork() == 0:
        port += 100
        serve(port)
    elif got == signal.SIGUSR1:
        serve(port)
