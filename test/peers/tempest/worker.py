"""Runs tests of Debian's Tempest, whose configuration is in TEMPEST_CONFIG_DIR, and prints a JSON object per line.

If NEUTRON_TEMPEST_PLUGIN names a checkout of openstack/neutron-tempest-plugin, its API tests are there as well.

worker.py --list: the id of every test. worker.py: reads the tests of one class per line, separated by spaces, runs
them in order and prints the result of each, then {"done": true}.
"""

import json
import logging
import os
import re
import sys
import types
import unittest

from tempest.lib.services.network import subnets_client
from testscenarios import generate_scenarios

PLUGIN = os.environ.get("NEUTRON_TEMPEST_PLUGIN")

# Nova's message for a path without a route. A path that lacks its final id has no route anywhere.
UNROUTED = re.compile(r"^\w+ https?://[^/]+/(?:compute|network)/[^?]*[^/?](\?.*)? -> 404$")
UNROUTED_WORDS = "The resource could not be found.<br />"
EXCEPTION = re.compile(r"^([\w.]+\.)?\w*(Error|Exception|Timeout|Fault|Conflict|Invalid\w*|NotFound|Forbidden|Unauthorized|"
                       r"BadRequest|Response\w*|Credentials|Mismatch\w*)\w*(:|$)")
DIFFERENT_EACH_TIME = (
    (re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|\b[0-9a-f]{32}\b"), ":id"),
    (re.compile(r"\btempest-[\w.-]+"), ":name"),
)
MOST = 400


class Requests(logging.Handler):
    """The requests since the last `clear`: the last one, and those to paths without a route."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.clear()

    def clear(self):
        self.last = None
        self.unserved = []

    def emit(self, record):
        if record.msg.startswith("Request (%s)"):
            _, status, method, url, _ = record.args
            self.last = f"{method} {url} -> {status}"
        elif record.msg.startswith("Request - Headers") and UNROUTED_WORDS in str(record.args[-1]):
            if UNROUTED.match(self.last):
                self.unserved.append(self.last)


def plain(text):
    for pattern, word in DIFFERENT_EACH_TIME:
        text = pattern.sub(word, text)
    return re.sub(r"\s+", " ", text).strip()[:MOST]


def cause(error, details):
    """Returns the exception without its traceback."""
    if error:
        text = f"{error[0].__name__}: {error[1]}"
    else:
        text = "\n".join(details[name].as_text() for name in details if name.startswith("traceback"))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    starts = [at for at, line in enumerate(lines) if EXCEPTION.match(line)]
    return plain(" ".join(lines[starts[0] if starts else -3:][:6]))


class Report(unittest.TestResult):
    """Prints each result. A failure or skip of a class applies to each of its tests."""

    def __init__(self, tests, requests):
        super().__init__()
        self.waiting = list(tests)
        self.requests = requests

    def startTest(self, test):
        super().startTest(test)
        self.requests.clear()

    def tell(self, test, result, why=""):
        fixture = re.match(r"(setUpClass|tearDownClass) \(", test.id())
        name = name_of(test)
        if fixture and result != "skipped":
            why = f"{fixture[1]}: {why}"
        for each in list(self.waiting) if fixture else [name]:
            if each in self.waiting:
                self.waiting.remove(each)
            self.print(each, result, why)
        if fixture and fixture[1] == "tearDownClass":
            self.print(name, result, why)

    def print(self, name, result, why):
        unserved = [plain(request) for request in self.requests.unserved]
        print(json.dumps({"test": name, "result": result, "why": why, "unserved": unserved}), flush=True)

    def addSuccess(self, test, details=None):
        self.tell(test, "passed")

    def addSkip(self, test, reason=None, details=None):
        self.tell(test, "skipped", plain(reason if details is None else details["reason"].as_text()))

    def addFailure(self, test, err=None, details=None):
        last = f" [last request: {plain(self.requests.last)}]" if self.requests.last else ""
        self.tell(test, "failed", cause(err, details) + last)

    addError = addFailure


def tests_of(suite):
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from tests_of(each)
        else:
            yield each


def name_of(test):
    """Returns a test's id without its attributes, but with its scenario, if it has one: module.Class.test(scenario)."""
    return re.sub(r"\[[^\]]*\]", "", test.id())


def load(names):
    """Loads tests by their names; tests with scenarios get those that the names say."""
    loaded = unittest.TestLoader().loadTestsFromNames(sorted({re.sub(r"\(.*$", "", name) for name in names}))
    return unittest.TestSuite(test for test in generate_scenarios(loaded) if name_of(test) in names or is_broken(test))


def is_broken(test):
    return type(test).__name__ == "_FailedTest"


def discover():
    import tempest

    top = os.path.dirname(os.path.dirname(tempest.__file__))
    yield from tests_of(unittest.TestLoader().discover(os.path.join(top, "tempest/test_discover"), top_level_dir=top))
    if PLUGIN:
        folder = os.path.join(PLUGIN, "neutron_tempest_plugin/api")
        yield from tests_of(unittest.TestLoader().discover(folder, top_level_dir=PLUGIN))


def load_plugin():
    """Registers the plugin's options: its first releases do so while they are imported, later ones when told to."""
    sys.path.insert(0, PLUGIN)
    from neutron_tempest_plugin.plugin import NeutronTempestPlugin
    from tempest import config

    import neutron_tempest_plugin.config  # noqa: F401

    NeutronTempestPlugin().register_opts(config.CONF)


def main():
    # Tempest waits ten seconds before it deletes a subnet, for agents that this cloud lacks.
    subnets_client.time = types.SimpleNamespace(sleep=lambda seconds: None)
    if PLUGIN:
        load_plugin()
    if sys.argv[1:] == ["--list"]:
        for test in discover():
            print(json.dumps({"test": name_of(test)}))
        return
    requests = Requests()
    logging.getLogger("tempest.lib.common.rest_client").addHandler(requests)
    for line in sys.stdin:
        names = line.split()
        requests.clear()
        report = Report(names, requests)
        load(names).run(report)
        for name in list(report.waiting):
            report.print(name, "failed", "it did not run")
        print(json.dumps({"done": True}), flush=True)


main()
