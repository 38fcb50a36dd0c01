# SPDX-License-Identifier: BSD-2-Clause
"""Prints the command lines of Sluice's tools that README.md and the manual pages show: FILE, a tab, the command.

Of a page these are the lines of its EXAMPLES and of its blocks of code, and those that the text quotes in bold with an
argument or more. A line with a word in capitals (FILE) is a form, and is left out.
"""
import glob
import re
import sys

TOOLS = "sluice|vma_stats|mlnx_qos|tc_wrap|bpftool"


def plain(line):
    """A line of a page without its macros, fonts and remark (behind blanks, or a #)."""
    line = re.sub(r"^\.(?:[BI]|[BIR]{2}) ", "", line)
    line = re.sub(r"\\f[BIRP]", "", line).replace("\\-", "-").replace("\\(aq", "'").replace("\\&", "").replace("\\e", "\\")
    return re.split(r"\s{2,}|\s#\s", line.strip())[0]


def of_page(text):
    section, code = "", False
    for line in text.splitlines():
        if line.startswith(".SH"):
            section = line[4:].strip('"')
        elif re.match(r"\.(nf|EX)\b", line):
            code = True
        elif re.match(r"\.(fi|EE)\b", line):
            code = False
        elif section == "SYNOPSIS":
            continue
        elif code or section == "EXAMPLES":
            yield plain(line)
        else:
            quoted = re.match(r'^\.(?:B|BR|RB) (?:\( )?("?)((?:%s) [^"]+)\1' % TOOLS, line)
            if quoted and re.search(r" -[^ ]*[^= ]|[/*:.\d]", plain(quoted[2])):
                yield plain(quoted[2])


def of_readme(text):
    yield from (line.strip() for line in text.splitlines() if line.startswith("    "))
    yield from (c for c in re.findall(r"`([^`\n]+)`", text) if c.count(" ") > 1)


def is_command(line):
    """Whether it is one, and can be run: not a form, nor the beginning of one."""
    return not line.endswith("=") and re.match(r"(%s) [a-z-]" % TOOLS, line) and not re.search(r"(^|[ =])[A-Z]{4,}($|[ :])|: |, ", line)


def main():
    for path in ["README.md"] + sorted(p for d in ("conf", "preload", "tools", "tools/*") for p in glob.glob(d + "/*.[1578]")):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        for line in dict.fromkeys((of_readme if path.endswith(".md") else of_page)(text)):
            if is_command(line):
                print(path, line, sep="\t")


sys.exit(main())
