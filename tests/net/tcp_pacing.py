# SPDX-License-Identifier: BSD-2-Clause
"""tcp_pacing.py OWN PEER FAR: the rate of a connection with SO_MAX_PACING_RATE, set before it, at its beginning or
later. The bounds are wide, since the machine may have other work."""
from tcplib import *

own, peer, far = start()
RATE = socket.SO_MAX_PACING_RATE if hasattr(socket, "SO_MAX_PACING_RATE") else 47
NEVER = struct.pack("Q", 2**64 - 1)


def took(s, f, n, during=lambda: None):
    """Seconds until the last of n bytes has arrived."""
    done = far.later(f, "drain", 1, n)
    begin = time.monotonic()
    sent = 0
    while sent < n:
        piece = pattern(1, sent, min(30000, n - sent))
        s.sendall(piece)
        sent += len(piece)
        during()
    right = done()
    return time.monotonic() - begin, right


def held(name, n, rate, s, f, **how):
    seconds, right = took(s, f, n, **how)
    # The bound allows for the first segments, which the kernel does not pace, and for those that a late timer catches
    # up.
    say(name, right, "not faster:", (n - 60000) / seconds < 1.1 * rate, "nor much slower:", n / seconds > 0.3 * rate)


for rate in (125000, 1250000):  # 1 and 10 Mbit/s
    s, f = pair(own, peer, far, 7000, lambda s: s.setsockopt(SOL, RATE, rate))
    held(f"{rate} before:", 2 * rate, rate, s, f)
    s.close()
    f.close()
    s, f = accepted(own, peer, far, 7001)
    s.setsockopt(SOL, RATE, rate)
    held(f"{rate} accepted:", 2 * rate, rate, s, f)
    time.sleep(0.1)  # idle time is not saved up
    held("   once more:", rate // 2, rate, s, f)
    s.setsockopt(SOL, RATE, NEVER)
    seconds, right = took(s, f, 4 * rate)
    say("   free again:", right, 4 * rate / seconds > 2 * rate)
    s.close()
    f.close()
# Connections inherit the rate of their listener.
s, f = accepted(own, peer, far, 7002, lambda ls: ls.setsockopt(SOL, RATE, 1250000))
say("child:", s.getsockopt(SOL, RATE))
held("   of a listener:", 1250000, 1250000, s, f)
say("done")
