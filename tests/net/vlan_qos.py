# SPDX-License-Identifier: BSD-2-Clause
"""vlan_qos.py send PEER4 PEER6 GO | see DEVICE OWN4 OWN6: send: sends by UDP and TCP with priorities set in each way; the
second half waits for the file GO. see: its peer, which captures, and at the end prints the tag priorities of each name."""
import threading
import time

from netlib import *

SOL, SO_PRIORITY = socket.SOL_SOCKET, 12
FLAG_SYN, FLAG_ACK = 2, 16


def control(s, name, peer, *messages):
    """With SO_PRIORITY among the messages, kernels before 6.14 send nothing."""
    return attempt(s.sendmsg, [b"q:" + name.encode()], [(lev, typ, struct.pack("i", v)) for lev, typ, v in messages],
                   0, (peer, 7000))


def datagrams(peer, mark):
    s = udp(peer, None)
    s.settimeout(None)  # so that the first send waits until the device is open
    give = lambda name: s.sendto(b"q:" + (name + mark).encode(), (peer, 7000))
    give("plain")
    if is6(peer):
        s.setsockopt(socket.IPPROTO_IPV6, IPV6_TCLASS, 0x10)
        give("class16")
        control(s, "class-of-one" + mark, peer, (socket.IPPROTO_IPV6, IPV6_TCLASS, 8))
    else:
        for tos in 0x08, 0x18, 0x10, 0xb8, 0x02:
            s.setsockopt(socket.IPPROTO_IP, IP_TOS, tos)
            give("tos%d" % tos)
        s.setsockopt(socket.IPPROTO_IP, IP_TOS, 0x08)
        control(s, "tos-of-one" + mark, peer, (socket.IPPROTO_IP, IP_TOS, 0x10))
        give("tos-again")
        control(s, "tos-then-prio" + mark, peer, (socket.IPPROTO_IP, IP_TOS, 0x10), (SOL, SO_PRIORITY, 4))
        control(s, "prio-then-tos" + mark, peer, (SOL, SO_PRIORITY, 4), (socket.IPPROTO_IP, IP_TOS, 0x10))
    for prio in 3, 5, 100:
        s.setsockopt(SOL, SO_PRIORITY, prio)
        give("prio%d" % prio)
    control(s, "prio-of-one" + mark, peer, (SOL, SO_PRIORITY, 2))
    s.connect((peer, 7000))
    s.send(b"q:connected" + mark.encode())
    s.setsockopt(SOL, SO_PRIORITY, 6)
    s.send(b"q:connected6" + mark.encode())
    return s


def line(c, name):
    c.sendall(b"q:%s\n" % name.encode())
    c.recv(1)  # the peer has it


def stream(peer, mark):
    c = socket.socket(socket.AF_INET6 if is6(peer) else socket.AF_INET)
    c.settimeout(TIMEOUT)
    c.setsockopt(SOL, SO_PRIORITY, 4)
    c.connect((peer, 7002))
    line(c, "stream" + mark)
    c.setsockopt(socket.IPPROTO_IP, IP_TOS, 0x08)
    line(c, "stream-tos" + mark)
    return c


def accepted(peer, mark, ask):
    """A listener's answer has its priority, a connection that it accepted has none."""
    lsn = socket.socket(socket.AF_INET6 if is6(peer) else socket.AF_INET)
    lsn.settimeout(TIMEOUT)
    lsn.setsockopt(SOL, socket.SO_REUSEADDR, 1)
    lsn.setsockopt(SOL, SO_PRIORITY, 6)
    lsn.bind(("::" if is6(peer) else "0.0.0.0", 7001))
    lsn.listen()
    ask.send(b"q:listens" + mark.encode())
    c, _ = lsn.accept()
    c.settimeout(TIMEOUT)
    say("accepted", mark, c.getsockopt(SOL, SO_PRIORITY))
    line(c, "accepted" + mark)
    lsn.close()
    return c


def send(peer4, peer6, go):
    socks = []
    for peer, mark in (peer4, "/4"), (peer6, "/6"):
        socks.append((datagrams(peer, mark), stream(peer, mark), mark))
        socks.append((None, accepted(peer, mark, socks[-1][0]), mark))
    say("half")
    while not os.path.exists(go):
        time.sleep(0.02)
    for u, c, mark in socks:
        if u:
            u.send(b"q:later" + mark.encode())
        line(c, ("stream-later" if u else "accepted-later") + mark)
    socks[0][0].send(b"q:end")


def serve(s):
    while s.recv(2000):
        s.send(b"k")


def listen(addr):
    s = socket.create_server((addr, 7002), family=socket.AF_INET6 if is6(addr) else socket.AF_INET)
    while True:
        threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()


def call(addr, local):
    s = socket.create_connection((addr, 7001), TIMEOUT)
    serve(s)


def frame(p, aux):
    """The tag's priority, the network header's place, IPv6?"""
    tci, at, ether = None, 14, struct.unpack_from("!H", p, 12)[0]
    for level, kind, data in aux:
        if level == 263 and kind == 8 and struct.unpack_from("I", data)[0] & 0x10:  # PACKET_AUXDATA, VLAN_VALID
            tci = struct.unpack_from("H", data, 16)[0]
    tags = [] if tci is None else [tci >> 13]
    while ether in (0x8100, 0x88a8):
        tags.append(struct.unpack_from("!H", p, at)[0] >> 13)
        ether, at = struct.unpack_from("!H", p, at + 2)[0], at + 4
    return tags, at, ether


def read(p, at, ether):
    """The name that the packet bears, and its source; None: not one of ours."""
    if ether not in (0x800, 0x86dd):
        return None
    v6 = ether == 0x86dd
    proto, l4, mark = (p[at + 6], at + 40, "/6") if v6 else (p[at + 9], at + 20, "/4")
    src = socket.inet_ntop(socket.AF_INET6, p[at + 8:at + 24]) if v6 else socket.inet_ntoa(p[at + 12:at + 16])
    if proto == 17:
        data = p[l4 + 8:l4 + struct.unpack_from("!H", p, l4 + 4)[0]]
    elif proto == 6:
        if p[l4 + 13] & FLAG_SYN:
            return "synack" + mark if p[l4 + 13] & FLAG_ACK else "syn" + mark, src
        data = p[l4 + (p[l4 + 12] >> 4) * 4:]
    else:
        return None
    return (data[2:].decode().strip(), src) if data[:2] == b"q:" else None


def see(device, own4, own6):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.setsockopt(263, 8, 1)  # PACKET_AUXDATA
    s.bind((device, 0))
    s.settimeout(6 * TIMEOUT)
    sinks = [udp(addr, 7000) for addr in (own4, own6)]
    for addr in own4, own6:
        threading.Thread(target=listen, args=(addr,), daemon=True).start()
    say("looking")
    seen, name = {}, ""
    while name != "end":
        p, aux, _, where = s.recvmsg(2000, 200)
        tags, at, ether = frame(p, aux)
        got = read(p, at, ether) if where[2] != socket.PACKET_OUTGOING else None
        if not got:
            continue
        name, src = got
        seen.setdefault(name, set()).add(" ".join(map(str, tags)))
        if name.startswith("listens") and len(seen[name]) == 1:
            threading.Thread(target=call, args=(src, name), daemon=True).start()
    for name in sorted(seen):
        say(name, *sorted(seen[name]))
    del sinks


send(*sys.argv[2:]) if sys.argv[1] == "send" else see(*sys.argv[2:])
