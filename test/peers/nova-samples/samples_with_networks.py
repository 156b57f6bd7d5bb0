"""Runs the peer's samples.py with the tests of networks, floating IPs, multinic and security groups, which it leaves out.

usage: samples_with_networks.py PEER APP [ARGUMENT...]
Clusters start with the only network `private`, as Nova's stub of Neutron does, and get external networks where a test has them.
"""

import importlib
import re
import runpy
import sys

peer = sys.argv.pop(1)
sys.path.insert(0, peer)

import bb  # noqa: E402
import overrides  # noqa: E402
import skips  # noqa: E402

SAMPLES = "nova.tests.functional.api_sample_tests."
CLAIMED = ("not claimed: floating IPs", "not claimed: networks beyond the flat one", "stub: ids of nova-network's time (numbers)")
# Ids and addresses of upstream's stubs, in the order of creation.
FLOATING_IPS = ("8baeddb4-45e2-4c36-8cb7-d79439a5f67c", "05ef7490-745a-4af9-98e5-610dc97493c4")
FLOATING_ADDRESSES = ("172.24.4.17", "172.24.4.78")
DEFAULT_GROUP, GROUP_OF_RULE = "11111111-1111-1111-1111-111111111111", "21111111-1111-1111-1111-111111111112"

for rules in (skips.NOT_CLAIMED, skips.STUBS):
    rules[:] = [(pattern, why) for pattern, why in rules if why not in CLAIMED]

peer_ctl, peer_call, peer_overrides, peer_setup = bb.ctl, bb.call, overrides.apply, bb.Cluster.setup


def ctl(op, **options):
    if op == "new":
        options["config"] = {**options["config"], "network": {"start": "flat"}}
    return peer_ctl(op, **options)


def setup(cluster):
    peer_setup(cluster)
    cluster.idmap[GROUP_OF_RULE] = cluster.idmap[DEFAULT_GROUP]


def call(user, project, roles, method, url, body=None, headers=None, service="compute"):
    response = peer_call(user, project, roles, method, url, body, headers, service)
    if method == "POST" and url.endswith("/os-floating-ips") and response.status_code == 200:
        known = bb.CURRENT.cluster.idmap
        id = response.json()["floating_ip"]["id"]
        known[next(theirs for theirs in FLOATING_IPS if theirs not in known)] = id
        response._content = bb.CURRENT.cluster.back(response.text).encode()
    return response


def create_external_network(name, addresses):
    cluster = bb.CURRENT.ensure()

    def create(kind, attributes):
        response = bb.session.post(f"{cluster.url}/network/v2.0/{kind}s", headers={"X-Auth-Token": cluster.root}, json={kind: attributes})
        assert response.status_code == 201, response.text
        return response.json()[kind]["id"]

    network = create("network", {"name": name, "router:external": True})
    pools = [{"start": address, "end": address} for address in addresses]
    create("subnet", {"network_id": network, "ip_version": 4, "cidr": "172.24.4.0/24", "enable_dhcp": False, "allocation_pools": pools})


def set_up_with(test_class, prepare):
    """Runs a function at the end of the class's own setUp."""
    own = test_class.setUp

    def set_up(self):
        own(self)
        prepare()

    test_class.setUp = set_up


def create_pools():
    for name in ("pool1", "pool2"):
        create_external_network(name, FLOATING_ADDRESSES)


def apply(release):
    peer_overrides(release)
    module = {name: importlib.import_module(SAMPLES + name) for name in ("test_floating_ips", "test_floating_ip_pools", "test_security_groups")}
    set_up_with(module["test_floating_ips"].FloatingIpsTest, lambda: create_external_network("public", FLOATING_ADDRESSES))
    set_up_with(module["test_floating_ip_pools"].FloatingIPPoolsSampleTests, create_pools)
    groups = module["test_security_groups"].SecurityGroupsJsonTest
    read_template = groups._read_template
    # Ids were numbers before Neutron; today's are uuids.
    groups._read_template = lambda self, name: re.sub(r'"id": 1\b', '"id": "%(text)s"', read_template(self, name))


bb.ctl, bb.call, bb.Cluster.setup, overrides.apply = ctl, call, setup, apply
sys.argv[0] = peer + "/samples.py"
runpy.run_path(sys.argv[0], run_name="__main__")
