# SPDX-License-Identifier: BSD-2-Clause
"""Servers that people run, with their load generators: redis, memcached, nginx.

Beside requests a second there are the median and the 99th percentile of their times."""
import os
import re
import shutil

from hosts import B4, ENV, PORT, TMP, Server, run, tcp_works

MCLOAD = ENV["BUILD"] + "/tests/apps/mcload"
REDIS = [(1, 1), (1, 16), (50, 1), (50, 16)]  # clients, pipeline
MEMCACHED = [(1, 4), (50, 1), (50, 4)]  # connections, threads (4 are memcached's default)
NGINX = [1, 50]


def redis(clients, pipeline, preload):
    count = 20000 * min(clients, 5) * min(pipeline, 5)
    argv = ["redis-server", "--port", PORT, "--bind", B4, "--protected-mode", "no", "--save", "",
            "--appendonly", "no"]
    with Server(argv, PORT, "b" in preload) as server:
        out = run("a", ["redis-benchmark", "-h", B4, "-p", PORT, "-t", "set,get", "--csv", "-n", count,
                        "-c", clients, "-P", pipeline], "a" in preload)
        rows = {name: (float(rate), float(p50), float(p99)) for name, rate, p50, p99 in re.findall(
            r'"([GS]ET)","([\d.]+)","[\d.]+","[\d.]+","([\d.]+)","[\d.]+","([\d.]+)"', out)}
        return {"rps": rows["GET"][0], "p50_ms": rows["GET"][1], "p99_ms": rows["GET"][2],
                "set_rps": rows["SET"][0], "set_p99_ms": rows["SET"][2], **server.through_kernel()}


def memcached(connections, threads, seconds, preload):
    with Server(["memcached", "-u", "root", "-U", "0", "-p", PORT, "-l", B4, "-t", threads], PORT,
                "b" in preload) as server:
        out = run("a", [MCLOAD, B4, PORT, connections, 1, seconds], "a" in preload)
        rate, p50, p99 = map(float, out.split())
        return {"rps": rate, "p50_ms": p50 / 1e3, "p99_ms": p99 / 1e3, **server.through_kernel()}


def nginx_conf():
    os.makedirs(TMP + "/www", exist_ok=True)
    with open(TMP + "/www/file", "wb") as f:
        f.write(os.urandom(1000))
    conf = f"{TMP}/nginx.conf"
    with open(conf, "w") as f:
        f.write(f"daemon off; master_process off; user root; pid {TMP}/nginx.pid; error_log {TMP}/nginx.err;\n"
                "events { worker_connections 1000; }\nhttp { access_log off; keepalive_requests 100000000;\n"
                + "".join(f"{kind}_temp_path {TMP}/n.{kind};" for kind in
                          ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
                + f"server {{ listen {B4}:{PORT}; root {TMP}/www; location /ok {{ return 200 ok; }} }} }}\n")
    return conf


def wrk(connections, seconds, preload, path, *flags):
    with Server(["nginx", "-p", TMP, "-c", nginx_conf()], PORT, "b" in preload) as server:
        out = run("a", ["wrk", "--latency", "-t", 1, "-c", connections, "-d", f"{max(1, round(seconds))}s",
                        *flags, f"http://{B4}:{PORT}/{path}"], "a" in preload)
        ms = {p: float(v) * {"us": 1e-3, "ms": 1, "s": 1e3}[u]
              for p, v, u in re.findall(r"(50|99)% +([\d.]+)(us|ms|s)", out)}
        return {"rps": float(re.search(r"Requests/sec: +([\d.]+)", out).group(1)), "p50_ms": ms["50"],
                "p99_ms": ms["99"], **server.through_kernel()}


def connections(seconds, preload):
    """Connections a second: each is made, used for a few bytes both ways, and closed."""
    res = wrk(16, seconds, preload, "ok", "-H", "Connection: close")
    return {"cps": res.pop("rps"), **res}


def who():
    return [("kernel", "")] + ([("Sluice one side", "b"), ("Sluice", "ab")] if tcp_works() else [])


def groups():
    """Name, the server's program, and what runs it."""
    for c, d in REDIS:
        yield f"redis, {c} clients, -P {d}", "redis-server", lambda s, p, c=c, d=d: redis(c, d, p)
    for c, t in MEMCACHED:
        yield f"memcached -t {t}, {c} connections", "memcached", lambda s, p, c=c, t=t: memcached(c, t, s, p)
    for c in NGINX:
        yield f"nginx, {c} connections", "nginx", lambda s, p, c=c: wrk(c, s, p, "file")
    yield "TCP connections (nginx, wrk)", "nginx", lambda s, p: connections(s, p)


def cases(seconds):
    for group, program, call in groups():
        if not shutil.which(program) or (program == "nginx" and not shutil.which("wrk")):
            continue
        for name, preload in who():
            yield group, name, lambda c=call, p=preload: c(max(1, seconds), p)


def goals(ratio):
    for group, program, _ in groups():
        rates = ["rps", "set_rps"] if program == "redis-server" else ["rps"]
        for case in ("Sluice one side", "Sluice"):
            for rate in rates if "nginx, wrk" not in group else ["cps"]:
                ratio(f"{group}, {case}: {rate} not below the kernel's", group, case, "kernel", rate, 1, False)
    best = "redis, 50 clients, -P 1"
    ratio("the best case: at least 2 x the kernel's requests a second", best, "Sluice", "kernel", "rps", 2, False)
    ratio("at a lower 99th percentile", best, "Sluice", "kernel", "p99_ms", 1, True)
