# SPDX-License-Identifier: BSD-2-Clause
"""unclaimed.py DIRECTORY PORT: deletes all entries of a local port from the pinned maps `flows` and `endpoints`, as
an administrator could with bpftool, and prints their number."""
import json
import subprocess
import sys

directory, port = sys.argv[1], int(sys.argv[2])
n = 0
for name, at in (("flows", 32), ("endpoints", 16)):
    pin = ["pinned", "%s/%s" % (directory, name)]
    entries = json.loads(subprocess.run(["bpftool", "-j", "map", "dump", *pin], check=True, stdout=subprocess.PIPE).stdout)
    for e in entries:
        key = [int(x, 16) for x in e["key"]]
        if key[at] + 256 * key[at + 1] == port or (name == "flows" and key[at + 2] + 256 * key[at + 3] == port):
            subprocess.run(["bpftool", "map", "delete", *pin, "key", *map(str, key)], check=True)
            n += 1
print(n)
