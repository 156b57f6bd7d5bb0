"""Runs the peer's samples.py with the tests of networks, floating IPs, multinic, security groups and volumes, which it leaves out.

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
CLAIMED = ("not claimed: floating IPs", "not claimed: networks beyond the flat one", "not claimed: volumes", "stub: ids of nova-network's time (numbers)")
# Ids and addresses of upstream's stubs, in the order of creation.
FLOATING_IPS = ("8baeddb4-45e2-4c36-8cb7-d79439a5f67c", "05ef7490-745a-4af9-98e5-610dc97493c4")
SWAP_OLD_VOLUME, SWAP_NEW_VOLUME = "a07f71dc-8151-4e7d-a0cc-cd24a3f11113", "227cc671-f30b-4488-96fd-7d0bf13648d8"
SNAPSHOT_VOLUME, USED_VOLUME = "521752a6-acf6-4b2d-bc7a-119f9148cd8c", "a26887c6-c47b-4654-abb5-dfadf7d3f803"
# Servers with block devices, in the peer's patterns for them and for signed images.
BLOCK_DEVICES = r"\|ServersSampleJson232Test|Json242Test.test_servers_post\||Json267Test.test_servers_post\|"
POOL, FLOATING_ADDRESSES = "172.24.4.0/24", ("172.24.4.17", "172.24.4.78")
DEFAULT_GROUP, GROUP_OF_RULE = "11111111-1111-1111-1111-111111111111", "21111111-1111-1111-1111-111111111112"

skips.NOT_CLAIMED[:] = [(re.sub(BLOCK_DEVICES, "", pattern), why) for pattern, why in skips.NOT_CLAIMED]
skips.STUBS.append((r"^test_volumes\.VolumesSampleJsonTest\.test_volumes_(create|delete)", "stub: a new volume that a server uses already"))

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


def request(method, path, body=None):
    """Sends a request to the Network API as administrator, and returns the value of the only key."""
    cluster = bb.CURRENT.ensure()
    response = bb.session.request(method, f"{cluster.url}/network/v2.0/{path}", headers={"X-Auth-Token": cluster.root}, json=body)
    assert response.ok, response.text
    return next(iter(response.json().values()))


def create_external_network(name, cidr, addresses):
    network = request("POST", "networks", {"network": {"name": name, "router:external": True}})
    pools = [{"start": address, "end": address} for address in addresses]
    subnet = {"network_id": network["id"], "ip_version": 4, "cidr": cidr, "enable_dhcp": False, "allocation_pools": pools}
    request("POST", "subnets", {"subnet": subnet})
    return network["id"]


def create_floating_ip(address, port=None):
    """Creates a floating IP that the servers of the network `private` can get, and associates it with a port."""
    cluster = bb.CURRENT.ensure()
    cidr = address.rsplit(".", 1)[0] + ".0/24"
    gateway = address.rsplit(".", 1)[0] + ".254"
    network = create_external_network("public", cidr, [gateway, address])
    external = {"network_id": network, "external_fixed_ips": [{"ip_address": gateway}]}
    router = request("POST", "routers", {"router": {"external_gateway_info": external}})
    request("PUT", f"routers/{router['id']}/add_router_interface", {"subnet_id": cluster.subnet})
    project = cluster.projects[bb.PROJECT_ID]
    floating_ip = {"floating_network_id": network, "floating_ip_address": address, "port_id": port, "project_id": project}
    request("POST", "floatingips", {"floatingip": floating_ip})


def set_up_with(test_class, prepare):
    """Runs a function at the end of the class's own setUp."""
    own = test_class.setUp

    def set_up(self):
        own(self)
        prepare()

    test_class.setUp = set_up


def request_volumes(method, path, body=None):
    """Sends a request to the Block Storage API in the tests' project, and returns the value of the only key."""
    cluster = bb.CURRENT.ensure()
    token = cluster.token("admin", bb.PROJECT_ID, ["admin", "member", "reader"])
    headers = {"X-Auth-Token": token, "OpenStack-API-Version": "volume 3.70"}
    response = bb.session.request(method, f"{cluster.url}/volume/v3/{path}", headers=headers, json=body)
    assert response.ok, response.text
    return next(iter(response.json().values())) if response.text else None


def create_volume(theirs):
    """Creates a volume with the id of upstream's stub."""
    volume = request_volumes("POST", "volumes", {"volume": {"size": 1, "name": "Volume Name", "description": "Volume Description"}})
    bb.CURRENT.cluster.idmap[theirs] = volume["id"]
    while request_volumes("GET", f"volumes/{volume['id']}")["status"] == "creating":
        bb.ctl("advance", id=bb.CURRENT.cluster.id, seconds=1)
    return volume["id"]


def create_used_volume(theirs, server):
    connector = {"host": "compute", "mountpoint": "/"}
    attachment = {"volume_uuid": create_volume(theirs), "instance_uuid": server, "connector": connector}
    id = request_volumes("POST", "attachments", {"attachment": attachment})["id"]
    request_volumes("POST", f"attachments/{id}/action", {"os-complete": {}})


def create_snapshot_of_stub():
    volume = create_volume(SNAPSHOT_VOLUME)
    return request_volumes("POST", "snapshots", {"snapshot": {"volume_id": volume, "name": "Default name"}})["id"]


def create_volumes():
    for theirs in (SWAP_OLD_VOLUME, SWAP_NEW_VOLUME):
        create_volume(theirs)
    # The name that upstream's driver gives the second disk, and that libvirt's gives it.
    bb.CURRENT.cluster.idmap["/dev/sdb"] = "/dev/vdb"


def attach_snapshot_volume(self):
    create_volume(SNAPSHOT_VOLUME)
    self.api.post_server_volume(self._post_server(), {"volumeAttachment": {"volumeId": SNAPSHOT_VOLUME}})


def use_created_snapshot(test_class):
    """Replaces the number of upstream's snapshot by the id of one that exists."""
    for name in ("_do_get", "_do_delete"):
        own = getattr(test_class, name)

        def with_snapshot(self, url, *rest, own=own, **options):
            return own(self, url.replace("/100", f"/{create_snapshot_of_stub()}") if url.endswith("/100") else url, *rest, **options)

        setattr(test_class, name, with_snapshot)
    read_template = test_class._read_template
    test_class._read_template = lambda self, name: (
        read_template(self, name).replace('"id": "100"', '"id": "%(text)s"').replace('"id": 100', '"id": "%(text)s"').replace('"volumeId": 12', '"volumeId": "%(text)s"')
    )


def create_pools():
    for name in ("pool1", "pool2"):
        create_external_network(name, POOL, FLOATING_ADDRESSES)


def create_before_actions(test_class):
    """Creates the floating IP of addFloatingIp and removeFloatingIp, for which upstream stubs the network."""
    test_action = test_class._test_server_action

    def with_floating_ip(self, uuid, action, template, subs=None, **options):
        if action == "addFloatingIp":
            # Upstream's 10.10.10.10 is in the range of `private`, which a router's gateway must not overlap.
            subs["address"] = "172.16.10.7"
            create_floating_ip(subs["address"])
        elif action == "removeFloatingIp":
            create_floating_ip(subs["address"], request("GET", f"ports?device_id={uuid}")[0]["id"])
        return test_action(self, uuid, action, template, subs, **options)

    test_class._test_server_action = with_floating_ip


def apply(release):
    peer_overrides(release)
    names = ("test_floating_ips", "test_floating_ip_pools", "test_security_groups", "test_servers")
    module = {name: importlib.import_module(SAMPLES + name) for name in names}
    create_before_actions(module["test_servers"].ServersActionsJsonTest)
    set_up_with(module["test_floating_ips"].FloatingIpsTest, lambda: create_external_network("public", POOL, FLOATING_ADDRESSES))
    set_up_with(module["test_floating_ip_pools"].FloatingIPPoolsSampleTests, create_pools)
    volumes = importlib.import_module(SAMPLES + "test_volumes")
    set_up_with(module["test_servers"].ServersSampleJson267Test, lambda: request_volumes("POST", "types", {"volume_type": {"name": "lvm-1"}}))
    set_up_with(volumes.VolumeAttachmentsSample, create_volumes)
    set_up_with(volumes.VolumesSampleJsonTest, lambda: create_used_volume(USED_VOLUME, "3912f2b4-c5ba-4aec-9165-872876fe202e"))
    set_up_with(volumes.SnapshotsSampleJsonTests, lambda: create_volume(SNAPSHOT_VOLUME))
    use_created_snapshot(volumes.SnapshotsSampleJsonTests)
    assisted = importlib.import_module(SAMPLES + "test_assisted_volume_snapshots").AssistedVolumeSnapshotsJsonTests
    own_set_up = assisted.setUp

    def set_up(self):
        own_set_up(self)
        attach_snapshot_volume(self)

    assisted.setUp = set_up
    groups = module["test_security_groups"].SecurityGroupsJsonTest
    read_template = groups._read_template
    # Ids were numbers before Neutron; today's are uuids.
    groups._read_template = lambda self, name: re.sub(r'"id": 1\b', '"id": "%(text)s"', read_template(self, name))


bb.ctl, bb.call, bb.Cluster.setup, overrides.apply = ctl, call, setup, apply
sys.argv[0] = peer + "/samples.py"
runpy.run_path(sys.argv[0], run_name="__main__")
