"""Tests with the fixtures of conftest.py."""


def create(cloud, name):
    return cloud.create_server(name, image="cirros", flavor="m1.tiny", wait=True, auto_ip=False)


def test_a_server_becomes_active(cloud):
    server = create(cloud, "vm1")
    assert server.status == "ACTIVE"
    assert cloud.delete_server(server.id, wait=True)


def test_each_test_begins_with_an_empty_cluster(cloud):
    assert list(cloud.compute.servers(all_projects=True)) == []


def test_a_host_that_was_killed_gets_no_server(cloud, cluster):
    cluster("host", "kill", "devstack1")
    [service] = cloud.compute.services(binary="nova-compute", host="devstack1")
    cloud.compute.update_service_forced_down(service, "devstack1", "nova-compute", True)
    server = create(cloud, "vm2")
    assert cloud.compute.get_server(server.id).compute_host == "devstack2"
