"""Runs commands of OpenStack's own clients: their modules are loaded once, and each command runs in a forked process.

Reads one shell command per line (openstack ... or nova ...), and prints one JSON object per line: rc, stdout, stderr.
"""

import contextlib
import io
import json
import logging
import os
import shlex
import sys
import tempfile

from novaclient import shell as novaclient
from openstackclient import shell as openstackclient

PROGRAMS = {"openstack": openstackclient.main, "nova": novaclient.main}


def run(words, out, err):
    """Runs the command in its own process and returns the exit code."""
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        try:
            rc = PROGRAMS[words[0]](words[1:])
        except SystemExit as end:
            rc = end.code
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            rc = 255
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(rc if isinstance(rc, int) else 0 if rc is None else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def text(file):
    file.seek(0)
    return file.read().decode()


def load_plugins():
    """Loads the plugins that every command loads, by running a command that does nothing else."""
    with contextlib.redirect_stdout(io.StringIO()):
        openstackclient.main(["module", "list"])
    # Each command sets its own handlers.
    logging.getLogger().handlers.clear()


def main():
    load_plugins()
    for line in sys.stdin:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            rc = run(shlex.split(line), out, err)
            answer = {"rc": rc, "stdout": text(out), "stderr": text(err)}
        print(json.dumps(answer), flush=True)


main()
