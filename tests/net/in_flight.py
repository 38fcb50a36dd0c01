# SPDX-License-Identifier: BSD-2-Clause
"""in_flight.py count UID: prints how many descriptors of a user are under way in UNIX sockets. (The kernel refuses to
send one more to a process without privileges whose RLIMIT_NOFILE is less, ETOOMANYREFS.)
in_flight.py serve OWN PORT CONNECTIONS CHILDREN: forks children that have all of its connections. The first writes to
each, so the kernel gets the connections. Says "shared" then; the server ends at a line of input, and the children go on
until their input ends. in_flight.py ask OWN PORT CONNECTIONS: its client."""
import array
import errno
import os
import resource
import socket
import sys


def is_refused(a, limit, hard):
    """True: more than limit are under way."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    try:
        a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))])
    except OSError as e:
        if e.errno != errno.ETOOMANYREFS:
            raise
        return True
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return False


def count(uid):
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    low, high = 0, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    hard = high
    while low < high:
        limit = (low + high) // 2
        if is_refused(a, limit, hard):
            low = limit + 1
        else:
            high = limit
            for fd in array.array("i", b.recvmsg(10, 100)[1][0][2]):
                os.close(fd)
    return low


def serve(own, port, connections, children):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((own, port))
    s.listen(connections)
    all_of_them = [s.accept()[0] for _ in range(connections)]
    for c in all_of_them:
        assert c.recv(1) == b"?"
    told, tell = os.pipe()
    for i in range(children):
        if os.fork():
            continue
        os.close(told)
        if i == 0:
            for c in all_of_them:
                c.sendall(b"!")
            os.write(tell, b"x")
        os.close(tell)
        os.read(3, 1)  # (the test holds the other end)
        os._exit(0)
    os.read(told, 1)
    for c in all_of_them:
        c.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    print("shared", flush=True)
    sys.stdin.readline()


def ask(own, port, connections):
    all_of_them = [socket.create_connection((own, port)) for _ in range(connections)]
    for c in all_of_them:
        c.sendall(b"?")
    print(sum(c.recv(1) == b"!" for c in all_of_them), flush=True)
    sys.stdin.readline()


if sys.argv[1] == "count":
    print(count(int(sys.argv[2])))
elif sys.argv[1] == "ask":
    ask(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
else:
    serve(sys.argv[2], *map(int, sys.argv[3:]))
