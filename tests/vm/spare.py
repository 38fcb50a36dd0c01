# SPDX-License-Identifier: BSD-2-Clause
"""What a guest's only processor has to spare: counts in FILE, always, at the lowest priority.

spare.py FILE    a number of 64 bits, as the machine has them
"""
import mmap
import os
import sys

os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
with open(sys.argv[1], "w+b") as f:
    f.truncate(4096)
    counter = mmap.mmap(f.fileno(), 4096)
n = 0
while True:
    n += 1
    counter[0:8] = n.to_bytes(8, sys.byteorder)
