"""Fixtures of pytest for a cluster of compute-agent. Copy this file beside your tests; it needs openstacksdk."""

import json
import os
import subprocess

import openstack
import pytest

PROGRAM = os.environ.get("COMPUTE_AGENT", "npx compute-agent").split()


def compute_agent(*args):
    """Runs a command and returns its output. The test fails if the command does."""
    done = subprocess.run([*PROGRAM, *args], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.fail(f"compute-agent {' '.join(args)}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """A function that runs commands on a cluster with two hosts, which stops after the last test."""
    folder = str(tmp_path_factory.mktemp("cluster"))
    started = compute_agent("up", "--state-dir", folder, "--hosts", "2", "--port", "0", "--detach", "--json")
    os.environ.update(json.loads(started)["env"])
    yield lambda *args: compute_agent(*args, "--state-dir", folder)
    compute_agent("down", "--state-dir", folder)


@pytest.fixture
def cloud(cluster):
    """A connection to the cluster, which is in the state after its start."""
    cluster("reset", "--yes", "--start-hosts")
    with openstack.connect() as connection:
        yield connection
