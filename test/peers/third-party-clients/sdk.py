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
    """State shared by the steps."""

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
def server_groups(run):
    group = run.member.create_server_group("sdk", policy="anti-affinity")
    assert run.member.get_server_group("sdk").id == group.id
    compute = run.member.compute
    # This release's create_server(group=...) loses the hint.
    servers = [
        compute.create_server(
            name=f"spread-{number}", image_id=run.image.id, flavor_id=compute.find_flavor("m1.tiny").id,
            networks="none", scheduler_hints={"group": group.id})
        for number in range(2)
    ]
    servers = [compute.wait_for_server(server, wait=PATIENCE) for server in servers]
    hosts = {run.admin.compute.get_server(server.id).compute_host for server in servers}
    assert len(hosts) == 2, hosts
    assert set(compute.get_server_group(group.id).member_ids) == {server.id for server in servers}
    for server in servers:
        assert run.member.delete_server(server.id, wait=True, timeout=PATIENCE)
    assert run.member.delete_server_group("sdk")


@step
def quotas(run):
    project = run.member.current_project_id
    before = run.admin.get_compute_quotas(project).instances
    used = len(run.member.list_servers())
    run.admin.set_compute_quotas(project, instances=used)
    assert run.admin.get_compute_quotas(project).instances == used
    assert run.member.get_compute_limits().max_total_instances == used
    try:
        run.member.create_server("refused", image=run.image, flavor="m1.tiny", auto_ip=False)
        raise AssertionError("a server beyond the quota was made")
    except openstack.exceptions.HttpException as refused:
        assert refused.status_code == 403 and "Quota exceeded for instances" in str(refused), refused
    run.admin.delete_compute_quotas(project)
    assert run.admin.get_compute_quotas(project).instances == before


@step
def unified_limits(run):
    identity = run.admin.identity
    service = identity.find_service("glance")
    key = {"service_id": service.id, "region_id": "RegionOne", "resource_name": "image_count_total"}
    identity.create_registered_limit(default_limit=100, **key)
    registered = list(identity.registered_limits(**key))
    assert [each.default_limit for each in registered] == [100], registered
    count = len([image for image in run.member.list_images() if image.owner == run.member.current_project_id])
    own = {"project_id": run.member.current_project_id, **key}
    identity.create_limit(resource_limit=count, **own)
    (limit,) = run.member.identity.limits(**key)
    assert limit.resource_limit == count, limit
    try:
        run.member.image.create_image(name="refused", disk_format="raw", container_format="bare", allow_duplicates=True)
        raise AssertionError("an image beyond the limit was made")
    except openstack.exceptions.HttpException as refused:
        assert refused.status_code == 413, refused
    identity.update_limit(limit.id, resource_limit=count + 1)
    # This release's delete_limit fails before it sends a request.
    assert identity.delete(f"/limits/{limit.id}").status_code == 204
    identity.delete_registered_limit(registered[0].id)
    assert list(identity.registered_limits(**key)) == []


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
