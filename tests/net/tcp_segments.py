# SPDX-License-Identifier: BSD-2-Clause
"""tcp_segments.py DEVICE GHOST GHOST_MAC SUBJECT SUBJECT_MAC FAR [SCRIPT...]: what a real process sends
for each segment, written as in packetdrill. Runs on host a; the subject is a socket on host b, driven at
FAR. The kernel's TCP must pass each script, too, which checks the scripts."""
import sys

import seg_close
import seg_forged
import seg_icmp
import seg_in
import seg_open
import seg_out
from segscript import *

faulthandler.cancel_dump_traceback_later()
faulthandler.dump_traceback_later(150, exit=True)
SCRIPTS = seg_open.SCRIPTS + seg_in.SCRIPTS + seg_forged.SCRIPTS + seg_out.SCRIPTS + seg_close.SCRIPTS
SCRIPTS += seg_icmp.SCRIPTS


def main():
    device, ghost, ghost_mac, subject, subject_mac, ctl, *wanted = sys.argv[1:]
    t = T(Net(device, ghost_mac, ghost, subject_mac, subject), Far(ctl))
    failed = []
    special = seg_icmp.LEARNED + seg_icmp.SET
    for script in SCRIPTS + special:
        if script.__name__ not in wanted if wanted else script in special:
            continue
        t.begin()
        try:
            script(t)
            say(f"{script.__name__}: ok")
        except (Wrong, OSError, RuntimeError) as e:
            failed.append(script.__name__)
            print(f"{script.__name__}: {e}", file=sys.stderr, flush=True)
        t.end()
    sys.exit(len(failed) > 0)


main()
