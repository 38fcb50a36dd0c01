# SPDX-License-Identifier: BSD-2-Clause
"""What the rounds gave, as a table and as plots."""
import re
import statistics
import subprocess
import sys

from hosts import OUT, quiet


MAIN = ["p50_us", "pps", "mps", "mbit", "share", "cps", "rps", "own_bytes_b", "open_us", "instructions", "ns"]


class Results:
    def __init__(self):
        self.values = {}  # group -> case -> [one dict a round]
        self.errors = []

    def add(self, group, case, call):
        """One round of a case; what a starved machine spoils is tried again, and told."""
        cases = self.values.setdefault(group, {}).setdefault(case, [])
        for _ in range(3):
            quiet()
            try:
                cases.append(call())
                return
            except (RuntimeError, AttributeError, KeyError, IndexError, ValueError,
                    subprocess.TimeoutExpired) as e:
                self.errors.append(f"{group}: {case}: {e}")
                print(f"  error: {group}: {case}: {e}", file=sys.stderr)
        cases.append(None)

    def put(self, group, case, values):
        self.values.setdefault(group, {}).setdefault(case, []).append(values)

    def series(self, group, case, metric):
        rounds = self.values.get(group, {}).get(case, [])
        return [r[metric] if r and metric in r else None for r in rounds]

    def median(self, group, case, metric):
        v = [x for x in self.series(group, case, metric) if x is not None]
        return statistics.median(v) if v else None

    def floor(self, group, metric):
        """The name of the best floor of the group: what bounds the others; None: it has none."""
        floors = [(self.median(group, c, metric), c) for c in self.values.get(group, {}) if c.startswith("floor")]
        floors = [f for f in floors if f[0] is not None]
        pick = min if metric.endswith("_us") else max
        return pick(floors)[1] if floors else None

    def ratio(self, group, case, base, metric):
        """Median, smallest and largest of case/base, round by round. base: "floor" is the best of them."""
        if base == "floor":
            base = self.floor(group, metric)
        pairs = zip(self.series(group, case, metric), self.series(group, base, metric))
        v = [x / y for x, y in pairs if x is not None and y]
        return (statistics.median(v), min(v), max(v)) if v else None


def number(v):
    if v is None:
        return "-"
    return f"{v:,.0f}" if v >= 1000 else f"{v:.2f}" if v < 100 else f"{v:.0f}"


def table(res):
    lines = []
    for group, cases in res.values.items():
        names = list(cases)
        first = {m: None for case in names for r in cases[case] if r for m in r}
        metric = next((m for m in MAIN if m in first), None)
        base = (metric and res.floor(group, metric)) or names[0]
        lines.append(f"{group}  (ratio to: {base})")
        for case in names:
            metrics = {m: None for rounds in cases[case] if rounds for m in rounds}
            main = next((m for m in MAIN if m in metrics), None)
            if not main:
                lines.append(f"  {case:28} failed")
                continue
            v = [x for x in res.series(group, case, main) if x is not None]
            text = f"  {case:28} {main:>12} {number(statistics.median(v)):>10}" \
                   f"  [{number(min(v))} .. {number(max(v))}]"
            ratio = res.ratio(group, case, base, main)
            if ratio and case != base:
                text += f"  x {ratio[0]:.2f} [{ratio[1]:.2f} .. {ratio[2]:.2f}]"
            lines.append(text)
            rest = [f"{m} {number(res.median(group, case, m))}" for m in metrics if m != main]
            if rest:
                lines.append(f"  {'':28} {', '.join(rest)}")
        lines.append("")
    return lines


def plot(res, prefix, metric, label, title, name):
    groups = [g for g in res.values if g.startswith(prefix)]
    rows = [(g, c, res.median(g, c, metric)) for g in groups for c in res.values[g]]
    unit = 1e6 if metric == "pps" else 1
    rows = [(g, c, v / unit) for g, c, v in rows if v is not None]
    if not rows:
        return
    colour = {"floor": "#999999", "kernel": "#4477aa", "Sluice": "#ee6677"}
    with open(f"{OUT}/{name}.dat", "w") as f:
        for i, (g, c, v) in enumerate(rows):
            who = next((k for k in colour if c.startswith(k)), "kernel")
            f.write(f'{i} {v} {int(colour[who][1:], 16)} "{c} ({g[len(prefix):].strip()})"\n')
    log = "set logscale x\n" if metric.endswith("_us") else ""
    script = f"""
set terminal svg size 900,{120 + 26 * len(rows)} font 'sans,12' background '#ffffff'
set output '{OUT}/{name}.svg'
set title '{title}'
set xlabel '{label}'
{log}set yrange [{len(rows) - 0.5}:-0.5]
set xrange [0:{max(r[2] for r in rows) * 1.15}]
set grid xtics
set key off
set style fill solid 0.9
set lmargin 42
plot '{OUT}/{name}.dat' using ($2/2):1:($2/2):(0.38):3:ytic(4) with boxxyerror lc rgb variable, \\
     '' using 2:1:(sprintf(' %.4g', $2)) with labels left
"""
    if log:  # bars on a logarithmic axis begin at its left end
        script = script.replace("using ($2/2):1:($2/2):(0.38):3", "using 2:1:(0.1):2:($1-0.38):($1+0.38):3")
        script = re.sub(r"set xrange .*", "set xrange [0.1:*]", script)
    done = subprocess.run(["gnuplot"], input=script, text=True, capture_output=True)
    if done.returncode:
        print("gnuplot: " + done.stderr, file=sys.stderr)
