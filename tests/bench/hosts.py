# SPDX-License-Identifier: BSD-2-Clause
"""The two hosts of the benchmark: programs that run there, preloaded or not, and servers."""
import os
import signal
import subprocess
import time

ENV = os.environ
NS, DEV_A, DEV_B = ENV["NS"], ENV["DEV_A"], ENV["DEV_B"]
A4, B4, MAC_B, TMP = ENV["A4"], ENV["B4"], ENV["BENCH_MAC_B"], ENV["TMP"]
BIN = ENV["BUILD"] + "/tests/bench/"
OUT = ENV["BUILD"] + "/bench"
PRELOAD = ENV["PRELOAD"]
HAVE_SLUICE = os.path.exists(PRELOAD)
PORT = 5000
DAEMON = {}  # host -> socket of the daemon that preloaded programs ask


# A core for each host (none with --unpinned): else the scheduler may put two that spin on one for seconds.
CORES = sorted(os.sched_getaffinity(0))
CORE = {"a": CORES[0], "b": CORES[1 % len(CORES)]}


def command(host, argv, preload=False):
    pre = ["nsenter", f"--net=/run/netns/{NS}{host}", "--"]
    pre += ["taskset", "-c", str(CORE[host])] if host in CORE else []
    if preload:
        pre += ["env", f"LD_PRELOAD={PRELOAD}", f"SLUICE_LOG_FILE={TMP}/sluice.%d.log"]
        pre += [f"SLUICE_DAEMON={DAEMON[host]}"] if host in DAEMON else []
    return pre + [str(x) for x in argv]


def start(host, argv, preload=False):
    return subprocess.Popen(command(host, argv, preload), stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def run(host, argv, preload=False, timeout=120):
    done = subprocess.run(command(host, argv, preload), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=timeout)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, argv))}: status {done.returncode}: {done.stdout}")
    return done.stdout


def stop(proc):
    if proc.poll() is None:
        proc.send_signal(signal.SIGTERM)
    try:
        return proc.communicate(timeout=20)[0]
    except subprocess.TimeoutExpired:
        proc.kill()
        raise RuntimeError(f"{proc.args}: does not end")


def wait_for(condition, what, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError("never happened: " + what)
        time.sleep(0.02)


def wait_line(proc, word):
    for line in proc.stdout:
        if word in line:
            return
    raise RuntimeError(f"{proc.args} ended before it said {word}")


def tcp_works():
    """Sockets of the library have TCP."""
    names = subprocess.run(["nm", ENV["BUILD"] + "/libsluice.a"], capture_output=True, text=True)
    return HAVE_SLUICE and " T sl_tconn_" in names.stdout


def listening(host, port):
    return bool(run(host, ["ss", "-Hltn", f"sport = :{port}"]).strip())


def bound(host, port):
    return bool(run(host, ["ss", "-Hanu", f"sport = :{port}"]).strip())


def kernel_segs(host):
    """Segments that the kernel's TCP of a host received."""
    rows = [l.split() for l in run(host, ["cat", "/proc/net/snmp"]).splitlines()
            if l.startswith("Tcp:")]
    return int(dict(zip(rows[0], rows[1]))["InSegs"])


def kernel_in(host):
    """Datagrams that the kernel's UDP of a host delivered."""
    rows = [l.split() for l in run(host, ["cat", "/proc/net/snmp"]).splitlines()
            if l.startswith("Udp:")]
    return int(dict(zip(rows[0], rows[1]))["InDatagrams"])


def has_xdp(host):
    return "xdp" in run(host, ["ip", "link", "show", DEV_A if host == "a" else DEV_B])


def has_private(host):
    """A lane of packet sockets has a device of its own."""
    return ": sluice" in run(host, ["ip", "-o", "link"])


def quiet():
    """Until nobody offloads on either device, so that one case does not see the one before."""
    wait_for(lambda: not any(has_xdp(h) or has_private(h) for h in "ab"), "what the last case attached goes")
    time.sleep(0.05)


class Server:
    """A TCP server on b for the time of a with statement, and what b's kernel saw meanwhile."""

    def __init__(self, argv, port, preload):
        self.argv, self.port, self.preload = argv, port, preload

    def __enter__(self):
        self.proc = start("b", self.argv, self.preload)
        wait_for(lambda: listening("b", self.port), f"{self.argv[0]} listens")
        self.before = kernel_segs("b")
        return self

    def through_kernel(self):
        return {"through_kernel": kernel_segs("b") - self.before} if self.preload else {}

    def __exit__(self, *_):
        stop(self.proc)
