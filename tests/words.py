#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""words.py [-v] [PATH..]: how many comments are not in plain English, by words that the house does not use.

A comment counts when it begins with one of FIRST, or contains one of ANYWHERE. At most 1 in 50 may (exit status 1
when there are more); -v lists them. Without PATH all sources of the project are looked through."""
import os
import re
import subprocess
import sys

FIRST = r"(Who|Whose|Whom|What|Of|It|They|One|That|None|Nobody|The same|As)\b"
ANYWHERE = r"\b(he|him|his|whom)\b|\bof which\b|\bis to be\b"
LIMIT = 50

C = (".c", ".h", ".def", ".map")
HASH = (".sh", ".py", ".mk", "Makefile", ".conf")


def c_comments(text):
    for m in re.finditer(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*', text, re.S):
        if not m.group().startswith('"'):
            yield text.count("\n", 0, m.start()) + 1, re.sub(r"\n\s*\*? ?", " ", m.group().strip("/*"))


def hash_comments(text):
    block, at = [], 0
    for n, line in enumerate(text.split("\n") + [""], 1):
        m = re.match(r"\s*#(?!!)\s?(.*)", line)
        if m:
            at = at if block else n
            block.append(m.group(1))
            continue
        if block:
            yield at, " ".join(block)
        block = []
        m = re.search(r"\s#\s+(.*)", line)
        if m and line.count('"', 0, m.start()) % 2 == 0 and line.count("'", 0, m.start()) % 2 == 0:
            yield n, m.group(1)


def comments(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        text = f.read()
    if path.endswith(C):
        yield from c_comments(text)
    elif path.endswith(HASH) or text.startswith("#!"):
        yield from hash_comments(text)


def words_of(comment):
    c = re.sub(r"SPDX\S*|shellcheck.*|-{4,}|NOLINT\S*", "", comment)
    return c.strip().lstrip("(").strip()


def main(args):
    verbose = "-v" in args
    paths = [a for a in args if a != "-v"] or ["."]
    files = subprocess.run(["git", "ls-files", "--"] + paths, capture_output=True, text=True, check=True).stdout.split()
    total = bad = 0
    for path in files:
        if os.path.islink(path) or not os.path.isfile(path):
            continue
        for line, comment in comments(path):
            text = words_of(comment)
            if not re.search("[a-z]{2}", text):
                continue
            total += 1
            if re.match(FIRST, text) or re.search(ANYWHERE, text):
                bad += 1
                if verbose:
                    print(f"{path}:{line}: {text[:150]}")
    print(f"words: {bad} of {total} comments are not in plain English (at most 1 in {LIMIT} may)")
    return 1 if bad * LIMIT > total else 0


sys.exit(main(sys.argv[1:]))
