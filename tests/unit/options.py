# SPDX-License-Identifier: BSD-2-Clause
"""options.py SLUICE: the options of each command are the same in its source, its --help, its manual page and bash's
completion. Prints how many each has, and a line for each difference; exits 1 if there are any.

In a page an option is what begins with a dash in the synopsis, and in the head of a paragraph (.TP). --help and -h need no
mention."""
import glob
import os
import re
import subprocess
import sys
import tempfile

SLUICE = os.path.abspath(sys.argv[1])
PAGES = {  # command: page, and the sections that are about it, if not all are
    "top": ("tools/sluice-stat.1", ["TOP"]),
    "stat": ("tools/sluice-stat.1", ["SYNOPSIS", "OPTIONS"]),
    "daemon": ("tools/sluiced/sluiced.8", ["sluice daemon"]),
    "demo": ("tools/sluice.1", ["DEMO"]),
    "qos": ("tools/sluice-qos.1", ["OPTIONS"]),
    "tc_wrap": ("tools/sluice-qos.1", ["tc_wrap", "TC_WRAP"]),
    "sluiced": ("tools/sluiced/sluiced.8", ["sluiced", "OPTIONS"]),
}
SOURCES = {"capture": ["tools/capture.c", "tools/capture_extcap.c"], "pace": ["tools/pace.c", "tools/pace_set.c"], "sluiced": ["tools/sluiced/main.c"]}
HELP = {"-h", "--help"}
EXTCAP = {"--capture", "--extcap-dlts", "--extcap-config"}  # Wireshark gives these
OPTION = re.compile(r"(?<![\w/=*'.-])(--[a-z0-9][a-z0-9_-]*|-[a-zA-Z0-9]\b)")


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def of_source(paths):
    options = set()
    for path in filter(os.path.exists, paths):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        for letters in re.findall(r'getopt_long\([^"]*"\+?([^"]*)"', text):
            options.update("-" + c for c in letters if c != ":")
        options.update(re.findall(r'(?:strcmp\(\w+(?:\[\w+\])?, |has\(argc, argv, )"(--?[a-z][a-z-]*)"', text))
        options.update("--" + name for name in re.findall(r'\{"([a-z_0-9-]+)", [a-z]*_argument', text))
    return options


def of_help(text):
    """Options of the usage lines, and of the columns of the list below that begin with a dash."""
    options = set()
    for line in text.splitlines():
        if re.match(r"usage:| {6,}(sluice|sluiced|\[) ", line) or re.match(r" {7,}\[", line):
            options.update(OPTION.findall(line))
        else:
            columns = re.split(r" {2,}", line) if line.startswith("  ") else []
            options.update(o for c in columns if c.startswith("-") for o in OPTION.findall(c))
    return options


def of_page(path, sections):
    options, section, form, head = set(), "", "", False
    with open(path, encoding="utf-8") as f:
        text = re.sub(r"\\f[BIRP]|\\,", "", f.read()).replace("\\-", "-").replace("\\&", "").replace('"', " ")
    for line in text.splitlines():
        if line.startswith(".SH"):
            section, form, head = line[3:].strip(), "", False
            continue
        words = re.sub(r"^\.[A-Z]+ +", "", line)
        form = next((f for f in ("sluice daemon", "sluiced", "tc_wrap") if words.startswith(f)), form)
        if not sections or section in sections or section == "SYNOPSIS" and form in sections:
            if head or section in ("SYNOPSIS", "TOP"):
                options.update(OPTION.findall(words))
        head = line.startswith(".TP")
    return options


def completed(words):
    """What bash offers for the last of the words of a command line."""
    script = "compopt() { :; }; . conf/sluice.bash; COMP_WORDS=(%s) COMP_CWORD=%d; _sluice; printf '%%s\\n' \"${COMPREPLY[@]}\"" % (
        " ".join("'%s'" % w for w in words), len(words) - 1)
    return set(output("bash", "-c", script).split("\n"))


def compare(command, program, faults):
    """command: what the page and the source are called by; program: the words that run it."""
    said = of_help(output(*program, "--help"))
    path, sections = PAGES.get(command, ("tools/sluice-%s.1" % command, []))
    paged = of_page(path, sections)
    coded = of_source(SOURCES.get(command, ["tools/%s.c" % command]))
    for missing, where, there in ((said - paged, path, "--help"), (paged - said, "--help", path), (coded - said, "--help", "the source"),
                                  (said - coded if coded else set(), "the source", "--help")):
        faults += ["%s %s: in %s, and not in %s" % (command, o, there, where) for o in sorted(missing - HELP - EXTCAP)]
    if command != "sluiced":
        faults += ["%s %s: not completed" % (command, o) for o in sorted(said - completed([*program, "-"]))]
    print("%s: %d options" % (command, len(said)))


def main():
    faults = []
    commands = re.findall(r"^  ([a-z]+) ", output(SLUICE, "help"), re.M)
    faults += ["completion offers no command %s" % c for c in sorted(set(commands) - completed([SLUICE, ""]))]
    for command in commands:
        if command not in ("version", "help"):
            compare(command, [SLUICE, command], faults)
    compare("sluiced", [os.path.dirname(SLUICE) + "/sluiced"], faults)
    with tempfile.TemporaryDirectory() as by_name:
        for name, command in (("vma_stats", "stat"), ("mlnx_qos", "qos"), ("tc_wrap", "tc_wrap")):
            os.symlink(SLUICE, by_name + "/" + name)
            compare(command, [by_name + "/" + name], faults)
    print("\n".join(faults))
    return bool(faults) or len(commands) < 10


sys.exit(main())
