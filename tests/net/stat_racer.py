# SPDX-License-Identifier: BSD-2-Clause
"""stat_racer.py FROM DIRECTORY: a program's file of counters that means harm: begins as a copy of FROM, and is filled
with rubbish all the time, the parts that a reader checks first less often. SEED repeats a run."""
import mmap
import os
import random
import struct
import sys
import time

ODD = (0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x1B5B1B5B, 0x0A0D0907, 0x41414141)
seed = int(os.environ.get("SEED", time.time_ns() % 1000000))
r = random.Random(seed)
with open(sys.argv[1], "rb") as f:
    good = f.read()
path = f"{sys.argv[2]}/sluice.{os.getpid()}.stats"
with open(path, "w+b") as f:
    f.write(good)
    f.flush()
    mem = mmap.mmap(f.fileno(), len(good))
print("seed", seed, flush=True)
n = 0
while True:
    n += 1
    at = r.choice((r.randrange(0, 4096), r.randrange(0, len(good) - 4))) & ~3
    word = r.choice((r.choice(ODD), r.getrandbits(32), r.randrange(300)))
    struct.pack_into("=I", mem, at, word)
    if n % 50 == 0:  # what is checked is right again, for a while
        mem[:64] = good[:64]
    if n % 20000 == 0:
        mem[:] = good
    if n % 5000 == 0:
        os.truncate(path, r.randrange(len(good)))
        os.truncate(path, len(good))
        mem.close()
        with open(path, "r+b") as f:
            mem = mmap.mmap(f.fileno(), len(good))
