# SPDX-License-Identifier: BSD-2-Clause
"""lease_user.py SOCKET: clients of sluiced that begin as root. Each changes its user, group or process after
its greeting, then asks for packet memory; those of SMALL ask what is lent to nobody. Prints the answer to each.
lease_user.py SOCKET child: one that dies after its greeting, and leaves its connection to a child.
lease_user.py SOCKET successor: likewise, but the child has a process that gets the dead one's number, and asks
without a pause. Prints whether the daemon hung up.
lease_user.py SOCKET borrowed: for processes with some of a user's IDs, and some of root's, whether a process of that
user gets the same packet memory.
lease_user.py SOCKET "hang up" DEVICE: one that opens the device for a second, hangs up, and lives on."""
import ctypes
import errno
import os
import socket
import struct
import sys
import time

import leaselib
from leaselib import message

path = sys.argv[1]
libc = ctypes.CDLL(None)
NOBODY = 65534
STATUS_REQUEST = message("STATUS")


def ask(s, op, body=b""):
    return leaselib.call(s, op, body)[0]


def drop_capabilities():
    header = struct.pack("=Ii", 0x20080522, 0)
    assert libc.capset(header, bytes(24)) == 0


def become_nobody():
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


CASES = {
    "nothing": lambda: None,
    "the same user once more": lambda: os.setresuid(0, 0, 0),
    "effective user, for a moment": lambda: os.seteuid(NOBODY),
    "user": become_nobody,
    "real user": lambda: os.setresuid(NOBODY, 0, 0),
    "saved user": lambda: os.setresuid(0, 0, NOBODY),
    "root's saved group": lambda: os.setresgid(0, 0, NOBODY),
    "root's groups": lambda: os.setgroups([1, 2, 3]),
    "saved group": lambda: os.setresgid(0, 0, NOBODY),
    "groups": lambda: os.setgroups([1, 2, 3]),
    "capabilities": drop_capabilities,
    "a child": lambda: None,
    "nothing, small": lambda: None,
    "user, small": become_nobody,
    "real user, small": lambda: os.setresuid(NOBODY, 0, 0),
    "a child, small": lambda: None,
    "user, before the greeting": become_nobody,
    "real user, before the greeting": lambda: os.setresuid(NOBODY, 0, 0),
    "group, before the greeting": lambda: os.setresgid(NOBODY, NOBODY, NOBODY),
    "root of a namespace": lambda: be_root_there(),
    "root of a namespace, small": lambda: be_root_there(),
}


def be_root_there():
    """In a user namespace of its own the process looks like root, and has all capabilities."""
    uid, gid = os.getuid(), os.getgid()
    assert libc.prctl(4, 1, 0, 0, 0) == 0  # PR_SET_DUMPABLE: for the files below
    assert libc.unshare(0x10000000) == 0  # CLONE_NEWUSER
    for name, text in ("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1"):
        with open(f"/proc/self/{name}", "w") as f:
            f.write(text)
    assert os.getuid() == 0


def be_a_user():
    """A user that may change its groups."""
    assert libc.prctl(8, 1, 0, 0, 0) == 0  # PR_SET_KEEPCAPS
    os.setresuid(1000, 1000, 1000)
    header = struct.pack("=Ii", 0x20080522, 0)
    setgid = 1 << 6
    assert libc.capset(header, struct.pack("=6I", setgid, setgid, 0, 0, 0, 0)) == 0


def request(s, name):
    err = ask(s, "STATUS" if name.endswith("small") else "UMEM")
    if err == 0:
        return "has it"
    try:
        again = ask(s, "STATUS")
    except OSError:
        again = "hung up"
    return f"refused, then {again}"


def greet(s):
    return leaselib.greet(s)[0]


def dial():
    return leaselib.dial(path)


def run(name, change):
    if name in ("groups", "saved group"):
        be_a_user()
    if name.startswith("root of"):
        os.setresuid(1000, 1000, 1000)
    s = dial()
    if name.endswith("before the greeting"):
        change()
        return f"greeted: {greet(s)}"
    assert greet(s) == 0
    change()
    if name == "root of a namespace, small":
        return f"{request(s, name)}; drains: {ask(dial(), 'DRAIN')}"
    if not name.startswith("a child"):
        return request(s, name)
    r, w = os.pipe()
    if os.fork() == 0:
        os.write(w, request(s, name).encode())
        os._exit(0)
    os.wait()
    return os.read(r, 1000).decode()


def clone_as(pid):
    """fork(), with that number for the child; less than 0: not possible here."""
    pids = (ctypes.c_int * 1)(pid)
    args = struct.pack("=11Q", 0, 0, 0, 0, 17, 0, 0, 0, ctypes.addressof(pids), 1, 0)  # (17: SIGCHLD)
    return libc.syscall(435, args, len(args))  # clone3


def keep_asking(s):
    """At any moment some requests wait in the queue: see the script."""
    end = time.monotonic() + 3
    try:
        while time.monotonic() < end:
            if not s.recv(4096):
                return "hung up"
            s.send(STATUS_REQUEST)
    except OSError:
        return "hung up"
    return "still served"


def leave_to_successor():
    s = dial()
    assert greet(s) == 0
    pid = os.getpid()
    for _ in range(64):
        s.send(STATUS_REQUEST)
    if os.fork():
        os._exit(0)
    while os.path.exists(f"/proc/{pid}"):
        time.sleep(0.001)
    child = clone_as(pid)
    if child == 0:
        print(keep_asking(s), flush=True)
    elif child < 0:
        print("no process can choose its number here", flush=True)
    else:
        os.waitpid(child, 0)
    os._exit(0)


def hang_up(device):
    s = dial()
    assert greet(s) == 0
    assert ask(s, "UMEM") == 0
    port = struct.pack("=II", socket.if_nametoindex(device), 0)
    while (err := ask(s, "PORT_OPEN", port)) == -errno.EAGAIN:
        time.sleep(0.05)
    assert err == 0, err
    time.sleep(1)
    s.close()
    time.sleep(30)


def packet_memory(*ids):
    os.setresuid(*ids)
    s = dial()
    assert greet(s) == 0
    leaselib.send(s, message("UMEM"))
    err, _, fds = leaselib.receive(s)
    assert err == 0, err
    return s, os.fstat(fds[0]).st_ino


def borrowed():
    for ids in (0, NOBODY, 0), (0, NOBODY, NOBODY), (NOBODY, NOBODY, 0), (NOBODY, NOBODY, NOBODY):
        r, w = os.pipe()
        hold, go = os.pipe()
        for who in ids, (NOBODY, NOBODY, NOBODY):
            if os.fork() == 0:
                os.close(go)
                _, inode = packet_memory(*who)
                os.write(w, b"%d\n" % inode)
                os.read(hold, 1)  # (both have it at a time)
                os._exit(0)
        os.close(w)
        with os.fdopen(r) as f:
            first, second = f.readline(), f.readline()
        os.close(go)
        os.wait(), os.wait()
        os.close(hold)
        print(*ids, "the same" if first == second else "another", flush=True)


if sys.argv[2:] == ["borrowed"]:
    borrowed()
    sys.exit()
if sys.argv[2:3] == ["hang up"]:
    hang_up(sys.argv[3])
    sys.exit()
if sys.argv[2:] == ["successor"]:
    leave_to_successor()
if sys.argv[2:] == ["child"]:
    s = dial()
    assert greet(s) == 0
    if os.fork() == 0:
        time.sleep(20)
    os._exit(0)
for name, change in CASES.items():
    r, w = os.pipe()
    if os.fork() == 0:
        try:
            os.write(w, run(name, change).encode())
        except BaseException as e:
            os.write(w, repr(e).encode())
        os._exit(0)
    os.close(w)
    os.wait()
    print(f"{name}: {os.read(r, 1000).decode()}")
    os.close(r)
