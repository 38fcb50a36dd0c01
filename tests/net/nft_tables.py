# SPDX-License-Identifier: BSD-2-Clause
# The tables of nf_tables in this network namespace, without its tool: nft_tables.py list | flush | add NAME
# list: a line for each: family, name, `owned` if it has an owner.
import errno
import socket
import struct
import sys

SUBSYS, NEW, GET, DEL = 10 << 8, 0, 1, 2
REQUEST, ACK, DUMP, CREATE = 1, 4, 0x300, 0x400
NAME, FLAGS = 1, 2
BEGIN, END = 16, 17


def attr(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def message(kind, flags, seq, body=b"", family=0, res=0):
    body = struct.pack(">BBH", family, 0, res) + body
    return struct.pack("=IHHII", 16 + len(body), kind, REQUEST | flags, seq, 0) + body


def answers(s):
    while True:
        data = s.recv(65536)
        while data:
            length, kind, _, _, _ = struct.unpack_from("=IHHII", data)
            if kind == 2:  # NLMSG_ERROR
                err = -struct.unpack_from("=i", data, 16)[0]
                if err:
                    sys.exit(errno.errorcode[err])
                return
            if kind == 3:  # NLMSG_DONE
                return
            yield data[16:length]
            data = data[(length + 3) & ~3 :]


def attrs(body):
    found = {}
    while len(body) >= 4:
        length, kind = struct.unpack_from("=HH", body)
        found[kind & 0x3FFF] = body[4:length]
        body = body[(length + 3) & ~3 :]
    return found


def change(s, what):
    s.send(message(BEGIN, 0, 1, res=10) + what + message(END, 0, 3, res=10))
    for _ in answers(s):
        pass


s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)
s.bind((0, 0))
if sys.argv[1] == "add":
    change(s, message(SUBSYS | NEW, CREATE | ACK, 2, attr(NAME, sys.argv[2].encode() + b"\0"), socket.AF_INET))
elif sys.argv[1] == "flush":  # as `nft flush ruleset`
    change(s, message(SUBSYS | DEL, ACK, 2))
else:
    s.send(message(SUBSYS | GET, DUMP, 1))
    for body in answers(s):
        a = attrs(body[4:])
        owned = " owned" if struct.unpack(">I", a[FLAGS])[0] & 2 else ""
        print(f"{body[0]} {a[NAME].rstrip(bytes(1)).decode()}{owned}")
