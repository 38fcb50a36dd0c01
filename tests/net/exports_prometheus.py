# SPDX-License-Identifier: BSD-2-Clause
"""exports_prometheus.py: reads Prometheus' text format from standard input as strictly as its own parsers, and prints how many
samples there are of how many families; each fault is a line."""
import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"'
SAMPLE = re.compile(r"(%s)(?:\{((?:%s,?)*)\})? (\S+)(?: (-?\d+))?$" % (NAME, LABEL))
kinds, helps, done, series, faults = {}, set(), set(), {}, []
current = None


def fault(n, text):
    faults.append("line %d: %s" % (n, text))


def family(name):
    """The family that a sample belongs to: its name, or that without a histogram's ending."""
    short = re.sub(r"_(bucket|sum|count)$", "", name)
    return short if kinds.get(short) == "histogram" else name


def enter(n, name):
    """A family's lines stand together."""
    global current
    if name != current:
        if name in done:
            fault(n, "%s stands in two places" % name)
        done.add(name)
        current = name


def check_histogram(name, rest, buckets):
    """Buckets of one histogram: cumulative, the last one is +Inf and equal to the count."""
    bounds = [float(le) for le, _ in buckets]
    counts = [v for _, v in buckets]
    if bounds != sorted(set(bounds)) or counts != sorted(counts):
        faults.append("%s{%s}: buckets out of order" % (name, rest))
    if bounds[-1] != float("inf") or series.get((name + "_count", rest)) != counts[-1] or (name + "_sum", rest) not in series:
        faults.append("%s{%s}: no end, count or sum" % (name, rest))


text = sys.stdin.buffer.read().decode("utf-8", "strict")
if text and not text.endswith("\n"):
    faults.append("the last line has no end")
for n, line in enumerate(text.split("\n")[:-1], 1):
    comment = re.match(r"# (HELP|TYPE) (%s) (.*)$" % NAME, line)
    if comment:
        what, name, rest = comment.groups()
        enter(n, name)
        if what == "TYPE" and (name in kinds or rest not in ("counter", "gauge", "histogram", "summary", "untyped")):
            fault(n, "type")
        if what == "HELP" and (name in helps or re.search(r"\\(?![\\n])", rest)):
            fault(n, "help")
        if what == "TYPE":
            kinds[name] = rest
            if (rest == "counter") != name.endswith("_total"):
                fault(n, "%s is a %s" % (name, rest))
        else:
            helps.add(name)
    elif line and not line.startswith("#"):
        sample = SAMPLE.match(line)
        if not sample:
            fault(n, line)
            continue
        name, labels, value = sample[1], re.findall(LABEL, sample[2] or ""), float(sample[5])
        enter(n, family(name))
        if family(name) not in kinds or family(name) not in helps:
            fault(n, "%s has no type, or no help" % name)
        if len({k for k, _ in labels}) != len(labels):
            fault(n, "a label twice")
        key = (name, ",".join("%s=%s" % l for l in sorted(labels)))
        if key in series:
            fault(n, "again: %s" % line)
        series[key] = value
        if kinds.get(name) == "counter" and value < 0:
            fault(n, line)

histograms = {}
for (name, labels), value in series.items():
    if name.endswith("_bucket") and kinds.get(name[:-7]) == "histogram":
        le = re.search(r"le=([^,]*)", labels)[1]
        rest = ",".join(l for l in labels.split(",") if not l.startswith("le="))
        histograms.setdefault((name[:-7], rest), []).append((le, value))
for (name, rest), buckets in histograms.items():
    check_histogram(name, rest, buckets)
print("%d samples of %d families, %d histograms" % (len(series), len(kinds), len(histograms)))
print("\n".join(faults[:10]))
sys.exit(bool(faults))
