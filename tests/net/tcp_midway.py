# SPDX-License-Identifier: BSD-2-Clause
# Calls that move many bytes while their connection is handed back to the kernel:
#   tcp_midway.py peer ADDRESS PORT
#   tcp_midway.py subject ADDRESS PORT [COMMAND...]     COMMAND OWN:PORT hands that connection back
# Prints the result of each call, and whether the bytes are right.
import fcntl, os, socket, struct, subprocess, sys, termios, threading, time

HALF = 10000
MUCH = 12 << 20


def pattern(n, first=0):
    return bytes((i * 7 + i // 251) % 251 for i in range(first, first + n))


def queued(s, what):
    return struct.unpack("i", fcntl.ioctl(s, what, bytes(4)))[0]


def until(true):
    end = time.monotonic() + 20
    while not true():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.01)


def exactly(s, n):
    got = b""
    while len(got) < n:
        piece = s.recv(min(n - len(got), 1 << 20))
        if not piece:
            break
        got += piece
    return got


def peer(address, port):
    listener = socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET)
    while True:
        control = listener.accept()[0]
        s = listener.accept()[0]
        if control.recv(1) == b"r":
            s.sendall(pattern(HALF))
            until(lambda: queued(s, termios.TIOCOUTQ) == 0)
            control.sendall(b"1")
            control.recv(1)
            s.sendall(pattern(HALF, HALF))
            control.recv(1)
        else:
            control.recv(1)
            control.sendall(b"%12d" % len(exactly(s, MUCH)))
        s.close()
        control.close()


def pieces(total, n):
    return [bytearray(total // n) for _ in range(n)]


def receive(s, buffers, flags):
    n = s.recvmsg_into(buffers, 0, flags)[0]
    return n, b"".join(buffers)[:n] == pattern(n)


def write(s, buffers, flags):
    return s.sendmsg(buffers), True


def main(address, port, command):
    def connect():
        return socket.create_connection((address, port))

    cases = [
        ("all of it", b"r", receive, [bytearray(2 * HALF)], socket.MSG_WAITALL),
        ("all of many pieces", b"r", receive, pieces(2 * HALF, 50), socket.MSG_WAITALL),
        ("to look at", b"r", receive, [bytearray(2 * HALF)], socket.MSG_WAITALL | socket.MSG_PEEK),
        ("written", b"w", write, pieces(MUCH, 64), 0),
    ]
    for name, kind, call, buffers, flags in cases:
        control, s, said = connect(), connect(), []
        own = s.getsockname()
        thread = threading.Thread(target=lambda: said.append(call(s, buffers, flags)))
        control.sendall(kind)
        if kind == b"r":
            control.recv(1)
            thread.start()
            if not flags & socket.MSG_PEEK:
                until(lambda: queued(s, termios.FIONREAD) == 0)
        else:
            thread.start()
            until(lambda: queued(s, termios.TIOCOUTQ) > 100000)
        time.sleep(0.2)  # it waits (nothing shows that from outside)
        if command:
            place = f"[{own[0]}]:{own[1]}" if ":" in own[0] else f"{own[0]}:{own[1]}"
            env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
            # (At load the process may not have told of the connection yet when the tool looks.)
            until(lambda: subprocess.run(command + [place], stdout=subprocess.DEVNULL, env=env).returncode == 0)
        control.sendall(b"g")
        thread.join()
        print(name, *said[0], int(control.recv(12)) if kind == b"w" else len(exactly(s, 2 * HALF))
              if flags & socket.MSG_PEEK else "")
        control.close()
        s.close()


if sys.argv[1] == "peer":
    peer(sys.argv[2], int(sys.argv[3]))
else:
    main(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
