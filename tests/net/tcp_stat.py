# SPDX-License-Identifier: BSD-2-Clause
"""tcp_stat.py OWN PEER FAR: events of connections are counted under the kernel's names, and `sluice stat` shows of a
connection what ss shows of a kernel's. $TOOL is sluice, $DEVICE this host's device."""
import subprocess

from tcplib import *

own, peer, far = start()
six = is6(own)
tcp(six=six).close()  # Sluice's counters come with the first socket
OFFLOADED = "LD_PRELOAD" in os.environ
PLAIN = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}


def wait_for(condition, seconds=WAIT):
    """tcplib's wait_for() with longer pauses, for conditions that need a process to check."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def run(*cmd):
    return subprocess.run(cmd, env=PLAIN, check=True, capture_output=True, text=True).stdout


def stat(*args):
    return run(os.environ["TOOL"], "stat", "-p", str(os.getpid()), "-c", "1", *args)


# Counts ------------------------------------------------------------------------------------------
def kernel_counts():
    """The kernel's counters, by nstat's names."""
    out = {}
    for name in ("snmp", "netstat"):
        rows = [line.split() for line in open("/proc/net/" + name)]
        for head, values in zip(rows[::2], rows[1::2]):
            prefix = head[0][:-1]
            out.update((prefix + h, int(v)) for h, v in zip(head[1:], values[1:]))
    return out


def our_counts():
    out = {}
    for lane in json.loads(stat("--json"))["lanes"]:
        for name, value in lane.items():
            out[name] = out.get(name, 0) + value
    return out


counts = our_counts if OFFLOADED else kernel_counts
NAMES = ["TcpActiveOpens", "TcpPassiveOpens", "TcpAttemptFails", "TcpEstabResets", "TcpOutRsts",
         "TcpInErrs", "TcpExtListenOverflows", "TcpExtTW", "TcpExtTCPAbortOnData",
         "TcpExtTCPAbortOnClose", "TcpExtTCPAbortOnTimeout", "TcpExtSyncookiesSent"]
BUSY = ["TcpRetransSegs", "TcpExtTCPTimeouts", "TcpExtTCPKeepAlive"]  # (the number depends on time)


def counted(what, do, names):
    before = counts()
    do()
    after = counts()
    grown = {n: after[n] - before.get(n, 0) for n in NAMES + names}
    say(what, *(n if n in BUSY else f"{n}+{grown[n]}" for n in grown if grown[n]))


def opens():
    before = counts()["TcpExtTW"]
    s, f = pair(own, peer, far, 7000)
    s.close()
    f.close()
    wait_for(lambda: counts()["TcpExtTW"] > before)


def is_opened():
    s, f = accepted(own, peer, far, 7001)
    f.close()
    s.recv(1)
    s.close()


def refused():
    s = tcp(six=six)
    attempt(s.connect, (peer, 9))
    s.close()


def closed_unread():
    s, f = pair(own, peer, far, 7002)
    f.send(b"never read")
    arrived(s, 10)
    s.close()
    settle(f)


def settle(f):
    attempt(f.recv, 1)
    f.close()


def lingers_not():
    s, f = pair(own, peer, far, 7003)
    close_reset(s)
    settle(f)


def is_reset():
    s, f = pair(own, peer, far, 7004)
    far.call("close_reset", f)
    attempt(s.recv, 1)
    s.close()


def unanswered():
    """Connects to a neighbour that does not exist, so no answer comes back."""
    nowhere = peer[:-1] + "7"
    run("ip", "neigh", "replace", nowhere, "lladdr", "02:00:00:00:00:77", "dev", os.environ["DEVICE"])
    s = tcp(six=six)
    s.setsockopt(TCP, 7, 1)  # TCP_SYNCNT
    say("unanswered:", attempt(s.connect, (nowhere, 7005)))
    s.close()


def kept_alive():
    s, f = pair(own, peer, far, 7006)
    s.setsockopt(SOL, socket.SO_KEEPALIVE, 1)
    s.setsockopt(TCP, 4, 1)
    before = counts()["TcpExtTCPKeepAlive"]
    wait_for(lambda: counts()["TcpExtTCPKeepAlive"] > before)
    close_reset(s)
    settle(f)


for do in (opens, is_opened, refused, closed_unread, lingers_not, is_reset, unanswered, kept_alive):
    counted(do.__name__.replace("_", " ") + ":", do, BUSY if do in (unanswered, kept_alive) else [])


# Connections -------------------------------------------------------------------------------------
def ss_fields(s):
    """Words of ss -tie for the socket: name:value, and the columns."""
    inode = os.fstat(s.fileno()).st_ino
    lines = run("ss", "-tiean").splitlines()
    at = next(i for i, line in enumerate(lines) if f"ino:{inode} " in line + " ")
    words = (lines[at] + " " + lines[at + 1]).split()
    out = {w.split(":", 1)[0]: w.split(":", 1)[1] for w in words[3:] if ":" in w}
    names = {"ESTAB": "ESTABLISHED", "LISTEN": "LISTEN", "CLOSE-WAIT": "CLOSE_WAIT"}
    out.update(state=names[words[0]], recv_q=int(words[1]), send_q=int(words[2]), words=words)
    return out


def of_kernel(s):
    f = ss_fields(s)
    if f["state"] == "LISTEN":
        return {"state": "LISTEN", "recv_q": f["recv_q"], "send_q": f["send_q"]}
    number = lambda name: int(f.get(name, "0"))
    return {"state": f["state"], "recv_q": f["recv_q"], "send_q": f["send_q"],
            "congestion": next(w for w in f["words"] if w in ("cubic", "reno", "bbr")),
            "ts": "ts" in f["words"], "sack": "sack" in f["words"], "wscale": "wscale" in f,
            "mss": number("mss"), "pmtu": number("pmtu"), "sent": number("bytes_sent"),
            "received": number("bytes_received"), "data_segs_in": number("data_segs_in"),
            "data_segs_out": number("data_segs_out"), "unacked": number("unacked"),
            "cwnd": number("cwnd") >= 10, "rto": float(f["rto"]) >= 200, "rtt": f["rtt"] != "0",
            "retrans": f.get("retrans", "0/0")}


def ours(s):
    return next(k for k in json.loads(stat("--json"))["sockets"] if k["fd"] == s.fileno())


def of_sluice(s):
    k = ours(s)
    if k["state"] == "LISTEN":
        return {"state": "LISTEN", "recv_q": k["rx_queue_pkts"], "send_q": k["tx_queue_bytes"]}
    if "tcpi_rtt" not in k:
        return {}
    return {"state": k["state"], "recv_q": k["rx_queue_bytes"], "send_q": k["tx_queue_bytes"],
            "congestion": k["congestion"], "ts": bool(k["tcpi_options"] & 1),
            "sack": bool(k["tcpi_options"] & 2), "wscale": bool(k["tcpi_options"] & 4),
            "mss": k["tcpi_snd_mss"], "pmtu": k["tcpi_pmtu"], "sent": k["tcpi_bytes_sent"],
            "received": k["tcpi_bytes_received"], "data_segs_in": k["tcpi_data_segs_in"],
            "data_segs_out": k["tcpi_data_segs_out"], "unacked": k["tcpi_unacked"],
            "cwnd": k["tcpi_snd_cwnd"] >= 10, "rto": k["tcpi_rto"] >= 200000,
            "rtt": k["tcpi_rtt"] > 0, "retrans": f"{k['tcpi_retrans']}/{k['tcpi_total_retrans']}"}


look = of_sluice if OFFLOADED else of_kernel


def shown(what, s, **want):
    """Waits until the counters show the wanted values; the library updates them once a second."""
    wait_for(lambda: all(look(s).get(k) == v for k, v in want.items()))
    say(what, look(s))


def view(number, s):
    """The text of a view of this socket; None on the kernel."""
    return stat("-v", str(number), "-s", str(s.fileno())) if OFFLOADED else None


ls = tcp(own, 7010, 5)
fs = [far.tcp(six=six) for _ in range(2)]
for f in fs:
    f.connect((own, 7010))
shown("listener with two waiting", ls, recv_q=2)
text = view(5, ls)
say("view 5", text is None or any(f[0].startswith("tcp") and f[2:4] == ["2", "5"] and "LISTEN" in f
                                  for f in map(str.split, text.splitlines())))
ls.close()
for name, s, f in both_ways(own, peer, far, 7020):
    shown(name + ", new", s, state="ESTABLISHED")
    for _ in range(3):
        s.send(b"x" * 100)
        f.take(100)
    f.send(b"y" * 50)
    arrived(s, 50)
    acked(s)
    shown(name + ", with data", s, sent=300, recv_q=50)
    text = view(3, s)
    say("view 3", text is None or all(w in text for w in ("- TCP ESTABLISHED, ", "bytes_sent:300",
                                                         "Recv-Q:50", " cwnd:", "retrans:0/0")))
    s.recv(50)
    counted = [sum(t["count"] for t in ours(s)[n]) for n in ("rx_wait", "answer", "tx_call")] if OFFLOADED else [1] * 3
    # (Not all sends need have left when their calls returned: Nagle.)
    say("times", counted[:2] == [1, 1] and 1 <= counted[2] <= 3 or counted)
    f.shutdown(socket.SHUT_WR)
    say("the peer has ended", wait_for(lambda: look(s).get("state") == "CLOSE_WAIT"))
    text = stat("--prometheus") if OFFLOADED else None
    say("Prometheus", text is None or "sluice_socket_tcpi_snd_cwnd{" in text)
    s.close()
    f.close()
# Bytes in flight: the far end reads nothing.
s, f = pair(own, peer, far, 7030)
fill(s)
say("what waits to be sent is shown", wait_for(lambda: look(s).get("send_q") == ioctl_int(s, SIOCOUTQ) > 100000))
close_reset(s)
f.close()
say("done")
