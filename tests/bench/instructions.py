# SPDX-License-Identifier: BSD-2-Clause
"""Instructions per datagram in user space, counted by callgrind."""
import re

from hosts import B4, BIN, HAVE_SLUICE, PORT, run, start, stop, wait_line


def callgrind(host, argv):
    out = run(host, ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"] + argv,
              True, 300)
    return int(re.search(r"Collected : (\d+)", out).group(1))


def instructions_sending(batch, to=B4):
    """The difference between a long and a short run, so that start-up does not count."""
    def ir(count):
        return callgrind("a", [BIN + "udpblast", to, PORT, f"count={count}", f"batch={batch}"])
    sink = start("b", [BIN + "udpsink", to, PORT, "seconds=60"])
    try:
        wait_line(sink, "ready")
        return {"instructions": (ir(40960) - ir(8192)) / 32768}
    finally:
        stop(sink)


def instructions_receiving(batch, way=0):
    def ir(count):
        sink = start("b", ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                           BIN + "udpsink", B4, PORT, "seconds=60", f"batch={batch}",
                           f"count={count}", f"way={way}"], True)
        wait_line(sink, "ready")
        # More than the sink can take: it always finds a batch waiting.
        blast = start("a", [BIN + "udpblast", B4, PORT, "seconds=60"])
        out = sink.communicate(timeout=120)[0]
        stop(blast)
        # (A callback has many datagrams in one call, so that more than `count` have come.)
        got = int(re.search(r"^(\d+) \d+ \d+ \d+$", out, re.M).group(1))
        return int(re.search(r"Collected : (\d+)", out).group(1)), got
    (long, many), (short, few) = ir(40960), ir(8192)
    return {"instructions": (long - short) / (many - few)}


def instructions_segments(batch):
    """TCP's share of a bulk stream, without the kernel's part (segments.c)."""
    def ir(count):
        out = run("b", ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                        "--toggle-collect=receiver_turn", BIN + "segments", str(batch),
                        str(count)], False, 300)
        return (int(re.search(r"Collected : (\d+)", out).group(1)),
                int(re.search(r"^(\d+) segments", out, re.M).group(1)))
    (long, many), (short, few) = ir(24000), ir(8000)
    return {"instructions": (long - short) / (many - few)}


def instruction_cases():
    if not HAVE_SLUICE:
        return
    g = "user-space instructions a datagram"
    for batch, call in ((1, "sendto"), (32, "sendmmsg")):
        yield g, call, lambda b=batch: instructions_sending(b)
    for batch, call in ((1, "recv"), (32, "recvmmsg")):
        yield g, call, lambda b=batch: instructions_receiving(b)
    for way, call in ((1, "recvfrom_zcopy"), (2, "packet callback")):
        yield g, call, lambda w=way: instructions_receiving(1, w)
    for batch in (1, 8, 32):
        yield ("user-space instructions a TCP segment", f"received in batches of {batch}",
               lambda b=batch: instructions_segments(b))
