# SPDX-License-Identifier: BSD-2-Clause
"""For programs whose polling is measured."""
import os


def alone():
    """Nobody else's thread keeps this one from polling."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except OSError as e:
        print("not alone:", e)
