# SPDX-License-Identifier: BSD-2-Clause
"""For settings_calls.py and settings_waits.py: their arguments, and what `sluice stat` counts of this process."""
import subprocess
from netlib import *

what, own, peer, port, tool = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5]
PLAIN = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}


def stat():
    return json.loads(subprocess.run([tool, "stat", "--json", "-p", str(os.getpid())], env=PLAIN, check=True,
                                     stdout=subprocess.PIPE).stdout)


def total(kind, name):
    return sum(x[name] for x in stat()[kind])
