"""Calls of Debian's openstacksdk to the clouds of clouds.yaml."""

import tempfile

import openstack
import steps

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILfWxkXVJqlG5uaeqsVW8hRRoGk2ZJWWqdjMpvLGrXxQ sdk"
PATIENCE = 120
STEPS = []


def step(function):
    STEPS.append(function)
    return function


class Run:
    """What the steps leave for one another."""

    def __init__(self):
        self.admin = openstack.connect(cloud="devstack")
        self.member = openstack.connect(cloud="devstack-demo")


@step
def key_pairs(run):
    made = run.member.create_keypair("made")
    assert made.private_key.startswith("-----BEGIN"), made
    run.member.create_keypair("sdk", KEY)
    assert {pair.name for pair in run.member.list_keypairs()} == {"made", "sdk"}
    assert run.member.delete_keypair("made")


@step
def an_image_is_uploaded(run):
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"sdk" * 500_000)
        file.flush()
        run.image = run.member.create_image(
            "sdk", filename=file.name, wait=True, timeout=PATIENCE, disk_format="raw", container_format="bare",
            min_disk=1, hw_rng_model="virtio", tags=["green"],
        )
    assert run.image.status == "active" and run.image.size == 1_500_000, run.image
    assert run.member.get_image("sdk").id == run.image.id


@step
def create_server_waits(run):
    run.server = run.member.create_server(
        "sdk", image=run.image, flavor="m1.tiny", key_name="sdk", meta={"a": "b"}, wait=True, timeout=PATIENCE,
        auto_ip=False,
    )
    assert run.server.status == "ACTIVE" and run.server.key_name == "sdk", run.server
    assert run.member.get_server("sdk").id == run.server.id
    assert [server.name for server in run.member.list_servers()] == ["sdk"]


@step
def wait_for_server(run):
    compute = run.member.compute
    server = compute.create_server(
        name="proxy", image_id=run.image.id, flavor_id=compute.find_flavor("m1.tiny").id, networks="none")
    server = compute.wait_for_server(server, wait=PATIENCE)
    assert server.status == "ACTIVE" and not server.task_state, server
    compute.stop_server(server)
    compute.wait_for_server(server, status="SHUTOFF", wait=PATIENCE)
    compute.set_server_metadata(server, c="d")
    assert compute.get_server_metadata(server).metadata == {"c": "d"}
    compute.delete_server(server)
    compute.wait_for_delete(server, wait=PATIENCE)


@step
def a_snapshot_becomes_a_server(run):
    image = run.member.create_image_snapshot("snapshot", run.server, wait=True, timeout=PATIENCE)
    assert image.status == "active", image
    server = run.member.create_server("copy", image=image, flavor="m1.tiny", wait=True, timeout=PATIENCE, auto_ip=False)
    assert run.member.delete_server(server.id, wait=True, timeout=PATIENCE)
    assert run.member.delete_image(image.id, wait=True, timeout=PATIENCE)


@step
def projects_and_users(run):
    project = run.admin.create_project("sdk", "default", description="of the SDK")
    user = run.admin.create_user("sdk", password="digs", domain_id="default", default_project=project.id)
    assert run.admin.grant_role("member", user=user.id, project=project.id, wait=True)
    theirs = run.member.connect_as(username="sdk", password="digs", project_id=project.id, user_domain_id="default")
    assert theirs.list_servers() == []
    assert run.admin.delete_user(user.id) and run.admin.delete_project(project.id)


@step
def hosts(run):
    assert {node.name for node in run.admin.list_hypervisors()} == {"devstack1", "devstack2", "devstack3"}
    assert run.admin.list_availability_zone_names() == ["nova"]
    aggregate = run.admin.create_aggregate("sdk")
    run.admin.add_host_to_aggregate(aggregate.id, "devstack3")
    run.admin.remove_host_from_aggregate(aggregate.id, "devstack3")
    assert run.admin.delete_aggregate(aggregate.id)


@step
def what_there_is_less_of(run):
    assert run.member.get_compute_limits().max_total_instances
    assert run.member.delete_server("sdk", wait=True, timeout=PATIENCE)
    assert run.member.delete_image("sdk", wait=True, timeout=PATIENCE)
    assert run.member.delete_keypair("sdk")


steps.run(STEPS, Run())
