# SPDX-License-Identifier: BSD-2-Clause
"""comes_back_look.py SLUICE PID SECONDS LOG N: waits until the sockets of comes_back.py are all offloaded, and N losses of
the steering are in its log, and says how many milliseconds that took. Status 1, and what is missing, if it takes longer.
A datagram socket is offloaded when datagrams come by the bypass and none by the kernel."""
import json
import subprocess
import sys
import time

KINDS = {"listener", "accepted", "connected", "datagrams", "peer's datagrams"}


def look():
    out = subprocess.run([sys.argv[1], "stat", "-p", sys.argv[2], "--json"], capture_output=True, text=True).stdout
    found = {}
    for s in json.loads(out)["sockets"]:
        port, peer = (int(s[k].rsplit(":", 1)[1]) for k in ("local", "remote"))
        if s["proto"] == "tcp":
            kind = "connected" if port != 7001 else "accepted" if peer else "listener"
        else:
            kind = "peer's datagrams" if peer else "datagrams"
        if kind in found and not found[kind][0]:
            continue  # one of the connections is not
        found[kind] = (s["offloaded"], s["reason"], s["rx_pkts"], s["rx_os_pkts"])
    return found


def losses():
    with open(sys.argv[4]) as f:
        return f.read().count("until the device is taken into use again")


def missing(was, now):
    out = [f"{k}: not there" for k in KINDS - now.keys()]
    if losses() < int(sys.argv[5]):
        out.append("the loss was not seen")
    for kind, (offloaded, reason, pkts, os_pkts) in now.items():
        if not offloaded:
            out.append(f"{kind}: {reason}")
        elif "datagrams" in kind and (pkts == was[kind][2] or os_pkts != was[kind][3]):
            out.append(f"{kind}: {pkts - was[kind][2]} by the bypass, {os_pkts - was[kind][3]} by the kernel")
    return out


began = time.monotonic()
was = look()
while True:
    at = time.monotonic()
    time.sleep(0.1)
    now = look()
    lack = missing(was, now)
    if not lack or at - began > float(sys.argv[3]):
        break
    was = now
print("; ".join(lack) or int((at - began) * 1000))
sys.exit(bool(lack))
