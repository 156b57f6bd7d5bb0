"""Runs commands of OpenStack's own clients, one after the other, in one process: their start-up costs more than their work.

Reads one shell command a line (openstack ... or nova ...), answers one JSON object a line: rc, stdout, stderr.
"""

import contextlib
import io
import json
import os
import shlex
import sys

from novaclient import shell as novaclient
from openstackclient import shell as openstackclient

# The terminal's width decides about line breaks in tables; the clients' own are without one.
os.environ.pop("COLUMNS", None)


def run(words):
    if words[0] == "openstack":
        return openstackclient.main(words[1:])
    if words[0] == "nova":
        return novaclient.main(words[1:])
    raise SystemExit(f"{words[0]}: no client of that name")


def answer(line):
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            rc = run(shlex.split(line))
        except SystemExit as end:
            rc = end.code
    out.flush()
    err.flush()
    return {
        "rc": rc or 0,
        "stdout": out.buffer.getvalue().decode(),
        "stderr": err.buffer.getvalue().decode(),
    }


def main():
    for line in sys.stdin:
        print(json.dumps(answer(line)), flush=True)


main()
