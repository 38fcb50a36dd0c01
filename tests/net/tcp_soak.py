# SPDX-License-Identifier: BSD-2-Clause
"""tcp_soak.py server OWN PORT | client PEER PORT SECONDS: connections one after the other, checked streams
both ways on each, while the network is disturbed. A connection may be refused; an established one must neither break
nor change a byte."""
from tcplib import *

faulthandler.cancel_dump_traceback_later()
SIZE = 40000


def serve(conn):
    try:
        seed = take(conn, 4)
        if len(seed) == 4:
            seed = struct.unpack("!I", seed)[0]
            swap(conn, seed + 1, seed, SIZE)
    except OSError:
        pass  # a killed client
    conn.close()


def server(own, port):
    ls = tcp(own, port, 100)
    while True:
        conn, _ = ls.accept()
        threading.Thread(target=serve, args=(conn,), daemon=True).start()


def client(peer, port, seconds):
    rng, end = random.Random(os.getpid()), time.monotonic() + seconds
    rounds = refused = 0
    broken = []
    while time.monotonic() < end:
        s = tcp(six=is6(peer))
        try:
            s.connect((peer, port))
        except OSError:
            refused += 1
            s.close()
            time.sleep(0.1)
            continue
        try:
            seed = rng.getrandbits(30)
            s.sendall(struct.pack("!I", seed))
            got = swap(s, seed, seed + 1, SIZE)
            if got is not True:
                broken.append(got)
            elif to_end(s) != [0, "end"]:
                broken.append("not the end")
            rounds += 1
        except OSError as e:
            broken.append(name_of(e.errno))
        s.close()
    print(f"{rounds} streams, {refused} refused", file=sys.stderr)
    say("broken:", broken, "some went through:", rounds > 0)
    sys.exit(bool(broken) or not rounds)


if sys.argv[1] == "server":
    server(sys.argv[2], int(sys.argv[3]))
client(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
