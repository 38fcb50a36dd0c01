# SPDX-License-Identifier: BSD-2-Clause
"""Runs tests of CPython's own and prints the name and result of each.

    cpython.py NAME.. [-x PART..]     those with one of the PARTs in their names are left out

A NAME is test_socket, test_asyncio.test_streams, test_ssl.ThreadedTests.test_echo. The output of a test that did not
pass goes to standard error; with CPYTHON_TIMES=S so do the names of tests that took S seconds or more.
"""

import faulthandler
import os
import sys
import tempfile
import threading
import time
import unittest

from test import support

TIMES = float(os.environ.get("CPYTHON_TIMES", "inf"))
RANKS = ["ok", "skipped", "expected failure", "unexpected success", "FAIL", "ERROR"]
LIMIT = 40  # seconds for a test; after that the program ends and prints where it hung


class Result(unittest.TestResult):
    """One line for each test: the worst of its parts."""

    def __init__(self):
        super().__init__()
        self.lines = {}

    def note(self, test, what, why=None):
        if RANKS.index(what) >= RANKS.index(self.lines.get(test.id(), "ok")):
            self.lines[test.id()] = what
        if why:
            why = self._exc_info_to_string(why, test)
            print("=== %s: %s\n%s" % (test.id(), what, why), file=sys.__stderr__, flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()
        faulthandler.dump_traceback_later(LIMIT, exit=True, file=sys.__stderr__)

    def stopTest(self, test):
        super().stopTest(test)
        faulthandler.cancel_dump_traceback_later()
        took = time.monotonic() - self.began
        if took >= TIMES:
            print("%6.2f s %s" % (took, test.id()), file=sys.__stderr__)

    def addSuccess(self, test):
        self.note(test, "ok")

    def addSkip(self, test, reason):
        self.note(test, "skipped")

    def addExpectedFailure(self, test, err):
        self.note(test, "expected failure")

    def addUnexpectedSuccess(self, test):
        self.note(test, "unexpected success")

    def addFailure(self, test, err):
        self.note(test, "FAIL", err)

    def addError(self, test, err):
        self.note(test, "ERROR", err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            bad = issubclass(err[0], test.failureException)
            self.note(test, "FAIL" if bad else "ERROR", err)


def flatten(suite):
    for t in suite:
        if isinstance(t, unittest.TestSuite):
            yield from flatten(t)
        else:
            yield t


def main(names, left_out):
    threading.excepthook = lambda args: None
    result = Result()
    out = os.fdopen(os.dup(1), "w")  # some tests print something, too
    os.dup2(2, 1)
    for name in names:
        # (The others mean hosts of the Internet by "network".)
        support.use_resources = ["network"] if name.startswith("test_socketserver") else []
        tests = flatten(unittest.defaultTestLoader.loadTestsFromName("test." + name))
        unittest.TestSuite(t for t in tests if not any(x in t.id() for x in left_out)).run(result)
    out.write("".join("%s %s\n" % i for i in sorted(result.lines.items())))
    out.close()


if __name__ == "__main__":
    args = sys.argv[1:]
    cut = args.index("-x") if "-x" in args else len(args)
    with tempfile.TemporaryDirectory() as d:
        os.chdir(d)
        main(args[:cut], args[cut + 1:])
        os.chdir("/")
