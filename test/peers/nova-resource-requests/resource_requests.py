"""Runs nova.tests.functional.test_servers_resource_request of Debian's python3-nova against live clusters.

usage: resource_requests.py PEER APP [-v] [PATTERN]
PATTERN is a regular expression on a test's id; -v prints a line for each test, with the reason of a skip.
The last line is "N passed, M failed, K skipped".
"""

import argparse
import collections
import re
import sys
import time
import traceback
import unittest

parser = argparse.ArgumentParser()
parser.add_argument("peer")
parser.add_argument("app")
parser.add_argument("pattern", nargs="?", default="")
parser.add_argument("--verbose", "-v", action="store_true")
arguments = parser.parse_intermixed_args()
sys.path.insert(0, arguments.peer)

import bb  # noqa: E402
import live_fixtures  # noqa: E402
from nova.tests.functional import test_servers_resource_request as module  # noqa: E402
from skipped_tests import skip_reason  # noqa: E402
from testtools import clone_test_with_new_id  # noqa: E402

# A test is run again for each host or option that it turns out to change late.
MAX_ATTEMPTS = 3


class Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.texts, self.skip = [], None

    def add(self, error, details):
        texts = [detail.as_text() for name, detail in (details or {}).items() if "traceback" in name]
        self.texts.extend(texts if error is None else ["".join(traceback.format_exception(*error))])

    def addError(self, test, err=None, details=None):
        self.add(err, details)

    def addFailure(self, test, err=None, details=None):
        self.add(err, details)

    def addSkip(self, test, reason=None, details=None):
        self.skip = f"upstream: {reason}"


def run(test, test_id):
    """Runs a test; returns its status and the reason for it."""
    for _ in range(MAX_ATTEMPTS):
        result = Result()
        attempt = clone_test_with_new_id(test, test.id())
        attempt._bb = None
        live_fixtures.prepare(attempt, test_id)
        attempt.run(result)
        if not any("bb.Again" in text for text in result.texts):
            break
    text = "\n".join(result.texts)
    in_process = re.search(r"bb\.WhiteBox: (.*)", text)
    if in_process:
        return "skipped", f"in process: {in_process.group(1)}"
    if result.texts:
        return "failed", text
    return ("passed", "") if result.skip is None else ("skipped", result.skip)


def tests_of(suite):
    for test in suite:
        yield from tests_of(test) if isinstance(test, unittest.TestSuite) else [test]


def main():
    bb.load_allowed(arguments.app)
    live_fixtures.apply()
    bb.time.sleep = bb.nap
    counts, started = collections.Counter(), time.monotonic()
    for test in tests_of(unittest.TestLoader().loadTestsFromModule(module)):
        test_id = test.id().rpartition(f"{module.__name__}.")[2]
        if not re.search(arguments.pattern, test_id):
            continue
        reason, began = skip_reason(test_id), time.monotonic()
        status, reason = ("skipped", reason) if reason else run(test, test_id)
        counts[status] += 1
        if arguments.verbose or status == "failed":
            lines = reason if arguments.verbose else reason.strip().rpartition("\n")[2]
            print(f"{status.upper()} {test_id} ({time.monotonic() - began:.1f} s) {lines}", flush=True)
    for cluster in bb.Cluster.pool.values():
        bb.ctl("stop", id=cluster.id)
    print(f"{time.monotonic() - started:.0f} s")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")


main()
