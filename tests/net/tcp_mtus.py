# SPDX-License-Identifier: BSD-2-Clause
"""tcp_mtus.py OWN PEER CONTROL: one connection over devices and a route whose MTU changes; prints the size of segments."""
from tcplib import *

own, peer, far = sys.argv[1], sys.argv[2], Far(sys.argv[3])
NS, A, B = (os.environ[k] for k in ("MTU_NS", "MTU_A", "MTU_B"))
TOTAL = 400000


def devices(mtu):
    return [f"-n {NS}a link set {A} mtu {mtu}", f"-n {NS}b link set {B} mtu {mtu}"]


def route(how):
    return [f"-n {NS}b {'-6' if is6(own) else '-4'} route {how}"]


fl = far.tcp(peer, 0, 1)
s = tcp(six=is6(own))
s.connect(fl.getsockname()[:2])
f, _ = fl.accept()
TO = f"{peer} dev {B}"
STEPS = [("1500", []), ("1300", devices(1300)), ("1500 again", devices(1500)), ("route 1290", route(f"add {TO} mtu 1290")),
         ("route gone", route(f"del {TO}")), ("1400", devices(1400)), ("at the end", devices(1500))]
for i, (what, commands) in enumerate(STEPS):
    for c in commands:
        far.call("run", ["ip", *c.split()])
    # The mirrors follow within a second; the kernel at the next segment.
    for n in range(20):
        other = far.later(f, "swap", 2 * i, 2 * i + 1, TOTAL)
        mine = swap(s, 2 * i + 1, 2 * i, TOTAL)
        if (mine, other()) != (True, True):
            say(what, mine)
        mss = s.getsockopt(TCP, socket.TCP_MAXSEG)
        want = {"1300": 1300, "route 1290": 1290, "1400": 1400}.get(what, 1500) - (60 if is6(own) else 40) - 12
        if mss == want:
            break
        time.sleep(0.1)
    say(what, "segments of the new size", mss == want)
far.forget()
