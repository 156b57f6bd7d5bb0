"""Stands for the fixtures of test_servers_resource_request: a cluster's Network service, its providers, and faults of its agents.

The product has no PCI devices. Ports of SR-IOV are ordinary ports of a second physical network, and the providers of physical
functions are those of its bridge; tests see the type of their port in its place.
"""

import inspect
import re
import sys

import bb
from bb import mock, nova_fixtures
from nova import utils
from nova.tests.functional import integrated_helpers
from nova.tests.functional import test_servers_resource_request as module

NEUTRON = nova_fixtures.NeutronFixture
BASE = module.PortResourceRequestBasedSchedulingTestBase
QOS_PORT = NEUTRON.port_with_resource_request["id"]
SRIOV_PORTS = {
    module.ResourceRequestNeutronFixture.port_with_sriov_resource_request["id"]: "direct",
    module.ResourceRequestNeutronFixture.port_macvtap_with_resource_request["id"]: "macvtap",
}
# Upstream's fixture has a trait of no network; Neutron derives it from the network's name.
PHYSICAL_NETWORK = "physnet1"
TRAIT, TRAIT_OF_PFS = "CUSTOM_PHYSNET_PHYSNET1", "CUSTOM_PHYSNET_PUBLIC"
BANDWIDTH, BANDWIDTH_OF_PFS, PACKET_RATE = 1000, 10000, 1000

peer_ctl, peer_setup, peer_new_fixture = bb.ctl, bb.Cluster.setup, bb.new_fixture
peer_enter, peer_exit = mock._patch.__enter__, mock._patch.__exit__
peer_find_spec = bb.Missing.find_spec


# ---------------------------------------------------------------- hosts
def ctl(op, **options):
    if op == "new":
        # The filter of PCI devices is the only one that upstream adds.
        config = {group: values for group, values in options["config"].items() if group != "filter_scheduler"}
        options["config"] = {**config, "network": {"start": "flat"}, "fake_libvirt": {"delay_live_migration": 20}}
        # The first host has the most memory, so that hosts are chosen in the order of HostNameWeigherFixture.
        memory = lambda match: f"{match.group(1)}{16384 * (5 - int(match.group(2)))}"
        options["file"] = re.sub(r'(name: "host(\d)".* memory_mb: )\d+', memory, options["file"])
    return peer_ctl(op, **options)


def set_fault(host, fault):
    bb.ctl("fault", id=bb.CURRENT.ensure().id, host=host, knobs=[fault])


def clear_faults(host, fault):
    bb.ctl("unfault", id=bb.CURRENT.ensure().id, host=host, points=[fault.split("=")[0]])


# ---------------------------------------------------------------- the Network service
def request(cluster, method, path, body=None):
    """Sends a request to the Network API as administrator, and returns the value of the only key."""
    headers = {"X-Auth-Token": cluster.token("admin", bb.PROJECT_ID, ["admin", "member", "reader"])}
    response = bb.session.request(method, f"{cluster.url}/network/v2.0/{path}", headers=headers, json=body)
    assert response.ok, response.text
    return next(iter(response.json().values()))


def create_network(cluster):
    network = {"name": "vlan", "provider:network_type": "vlan", "provider:physical_network": PHYSICAL_NETWORK, "shared": True}
    network = request(cluster, "POST", "networks", {"network": network})
    subnet = {"network_id": network["id"], "ip_version": 4, "cidr": "10.8.0.0/24"}
    subnet = request(cluster, "POST", "subnets", {"subnet": subnet})
    return network["id"], subnet["id"]


def create_policy(cluster, name, bandwidth, packet_rate=None):
    policy = request(cluster, "POST", "qos/policies", {"policy": {"name": name}})["id"]
    for direction in ("ingress", "egress"):
        rule = {"minimum_bandwidth_rule": {"min_kbps": bandwidth, "direction": direction}}
        request(cluster, "POST", f"qos/policies/{policy}/minimum_bandwidth_rules", rule)
    if packet_rate is not None:
        rule = {"minimum_packet_rate_rule": {"min_kpps": packet_rate, "direction": "any"}}
        request(cluster, "POST", f"qos/policies/{policy}/minimum_packet_rate_rules", rule)
    return policy


def setup(cluster):
    """Makes the networks and ports of upstream's fixture. The ports' requests follow from policies."""
    peer_setup(cluster)
    ids = cluster.idmap
    ids["CUSTOM_PHYSNET2"] = TRAIT
    # The network of the start is flat, of the physical network `public`.
    ids[NEUTRON.network_2["id"]], ids[NEUTRON.subnet_2["id"]] = cluster.net, cluster.subnet
    ids[NEUTRON.network_1["id"]], ids[NEUTRON.subnet_1["id"]] = create_network(cluster)
    cluster.bandwidth = create_policy(cluster, "bandwidth", BANDWIDTH)
    cluster.several_groups = create_policy(cluster, "several-groups", BANDWIDTH, PACKET_RATE)
    of_pfs = create_policy(cluster, "of-pfs", BANDWIDTH_OF_PFS)
    create_port(cluster, QOS_PORT, NEUTRON.network_1["id"], cluster.bandwidth)
    for port in SRIOV_PORTS:
        create_port(cluster, port, NEUTRON.network_2["id"], of_pfs)


def create_port(cluster, port, network, policy):
    port_body = {"network_id": cluster.idmap[network], "qos_policy_id": policy}
    cluster.idmap[port] = request(cluster, "POST", "ports", {"port": port_body})["id"]


class Neutron:
    """Upstream's fixture: its data, and the cluster's ports as a client of the fixture sees them."""

    def __init__(self, fixture):
        self._fixture = fixture
        self._has_groups = issubclass(fixture, module.ExtendedResourceRequestNeutronFixture)
        if issubclass(fixture, module.MultiGroupResourceRequestNeutronFixture):
            cluster = bb.CURRENT.ensure()
            port = {"port": {"qos_policy_id": cluster.several_groups}}
            request(cluster, "PUT", f"ports/{cluster.idmap[QOS_PORT]}", port)

    def __getattr__(self, name):
        value = getattr(self._fixture, name)
        if name.startswith("__") or callable(value):
            raise bb.WhiteBox(f"neutron.{name}")
        return value

    def show_port(self, port_id):
        cluster = bb.CURRENT.ensure()
        port = request(cluster, "GET", f"ports/{cluster.idmap.get(port_id, port_id)}")
        port["binding:vnic_type"] = SRIOV_PORTS.get(port_id, port["binding:vnic_type"])
        if not self._has_groups:
            to_single_group(port)
        return {"port": port}


def to_single_group(port):
    """Changes a port to that of a Neutron without request groups: one group, and the id of one provider."""
    if port["resource_request"]:
        [port["resource_request"]] = port["resource_request"]["request_groups"]
    if "allocation" in port["binding:profile"]:
        [port["binding:profile"]["allocation"]] = port["binding:profile"]["allocation"].values()


def new_fixture(fixture):
    # Upstream makes a fixture of all tests first, and replaces it.
    if isinstance(fixture, module.ResourceRequestNeutronFixture):
        return Neutron(type(fixture))
    return peer_new_fixture(fixture)


# ---------------------------------------------------------------- providers
create_pf_device_rp = BASE._create_pf_device_rp


def create_bridge_provider(self, uuid, parent, inventories, traits, device_rp_name=None):
    """Creates the provider of a physical function as that of a bridge of the second physical network."""
    networks = [TRAIT_OF_PFS if trait == "CUSTOM_PHYSNET2" else trait for trait in traits if "PHYSNET" in trait]
    create_pf_device_rp(self, uuid, parent, inventories, ["CUSTOM_VNIC_TYPE_NORMAL", *networks], device_rp_name)


def find_spec(finder, name, path, target=None):
    """Lets mocks find what is in a module: the peer's finder makes a module of every name."""
    parent, _, child = name.rpartition(".")
    return None if hasattr(sys.modules.get(parent), child) else peer_find_spec(finder, name, path, target)


# ---------------------------------------------------------------- faults
# Faults that replace mocks, by the attribute that upstream replaces: host, and fault while the mock is there.
FAULTS_OF_MOCKS = {
    "_prep_resize": [("host2", "agent.prep_resize.claim=fail")],
    "rebuild_claim": [("host2", "agent.evacuate_instance.claim=fail:ComputeResourcesUnavailable")],
    "check_can_live_migrate_destination": [("host2", "driver.checkCanLiveMigrateDestination=fail:MigrationPreCheckError")],
    "update_port": [("host1", "network.bind=fail"), ("host2", "network.bind=fail")],
}


def enter(patch):
    entered = peer_enter(patch)
    for host, fault in FAULTS_OF_MOCKS.get(patch.attribute, []):
        set_fault(host, fault)
    return entered


def leave(patch, *error):
    for host, fault in FAULTS_OF_MOCKS.get(patch.attribute, []):
        clear_faults(host, fault)
    if patch.attribute == "_prep_resize" and inspect.isfunction(patch.new):
        calls = inspect.getclosurevars(patch.new).nonlocals["prep_resize_calls"]
        calls.extend(hosts_of_last_action("compute_prep_resize"))
    return peer_exit(patch, *error)


def hosts_of_last_action(event_name):
    """Returns the hosts of the events of the only server's last action, in the order of their start."""
    api = bb.CURRENT.test.admin_api
    [server] = api.get_servers(detail=False)
    [last, *_earlier] = api.get_instance_actions(server["id"])
    details = api.api_get(f"/servers/{server['id']}/os-instance-actions/{last['request_id']}").body["instanceAction"]
    events = [event for event in details["events"] if event["event"] == event_name]
    return [event["host"] for event in sorted(events, key=lambda event: event["start_time"])]


def migration_uuid(self, server):
    """Returns the uuid of the server's only migration, which upstream reads from the database."""
    with utils.temporary_mutation(self.admin_api, microversion="2.59"):
        [migration] = self.admin_api.api_get(f"/os-migrations?instance_uuid={server}").body["migrations"]
    return migration["uuid"]


# ---------------------------------------------------------------- preparations of tests
def give_networks_a_policy():
    """Makes new ports of a network request resources, for which upstream replaces the creation of ports."""
    cluster = bb.CURRENT.ensure()
    body = {"network": {"qos_policy_id": cluster.bandwidth}}
    request(cluster, "PUT", f"networks/{cluster.idmap[NEUTRON.network_1['id']]}", body)


def fail_first_spawn():
    set_fault("host1", "driver.spawn=fail:ComputeResourcesUnavailable:once")


def slow_down_live_migrations():
    # Waiting for the end of a migration would be waiting for its abort.
    bb.CURRENT.settle = lambda: None


# What upstream does by mocks around a test, or by drivers of its own.
PREPARATIONS = [
    (r"_with_network_create_port_has_resource_request$", give_networks_a_policy),
    (r"ReSchedulingTest\.test_boot_reschedule_success$", fail_first_spawn),
    (r"_abort_migration$", slow_down_live_migrations),
]
# Hosts that tests start after the cluster, which must know them.
LATE_HOSTS = [
    (r"reschedule_success$", ["host2", "host3"]),
    (r"^ServerMove|^LiveMigrateAbort|ReSchedulingTest|test_interface_attach_with_resource_request$", ["host2"]),
]


def prepare(test, test_id):
    """Prepares a test before it is run."""
    bb.LATE.setdefault(bb.test_key(test), next((hosts for pattern, hosts in LATE_HOSTS if re.search(pattern, test_id)), []))
    own = test.setUp

    def set_up():
        own()
        for pattern, preparation in PREPARATIONS:
            if re.search(pattern, test_id):
                preparation()

    test.setUp = set_up


def apply():
    bb.ctl, bb.Cluster.setup, bb.new_fixture = ctl, setup, new_fixture
    mock._patch.__enter__, mock._patch.__exit__ = enter, leave
    bb.Missing.find_spec = find_spec
    BASE._create_pf_device_rp = create_bridge_provider
    integrated_helpers.PlacementInstanceHelperMixin.get_migration_uuid_for_instance = migration_uuid
    # What cannot be seen from outside: requests of PCI devices, and words of logs.
    BASE._assert_pci_request_pf_device_name = lambda self, server, name: None
    integrated_helpers.InstanceHelperMixin._wait_for_log = lambda self, line: None
