import { describe, expect, test } from "vitest";
import { createStartNetworks, type StartNetworks } from "../../../../src/control-plane/network/start-networks.js";
import { type Body, NetworkHarness } from "./network-harness.js";

const PROJECTS = { admin: "admin", demo: "demo" };

function start(network: NetworkHarness, options: StartNetworks): void {
  network.store.transaction(() => createStartNetworks(network.context, options));
}

function startedWith(options: StartNetworks): NetworkHarness {
  const network = new NetworkHarness();
  start(network, options);
  return network;
}

const namesOf = (records: readonly Body[]) => records.map(({ name }) => name).sort();

describe("a cloud that starts as devstack", () => {
  const cloud = () => startedWith({ start: "devstack", projects: PROJECTS });

  test("has default subnet pools that all projects share", async () => {
    expect(await cloud().list("/subnetpools", "alt")).toMatchObject([
      {
        name: "shared-default-subnetpool-v4",
        prefixes: ["10.0.0.0/22"],
        default_prefixlen: "26",
        is_default: true,
        shared: true,
      },
      { name: "shared-default-subnetpool-v6", default_prefixlen: "64", ip_version: 6, is_default: true, shared: true },
    ]);
  });

  test("has an external default network on the physical network public", async () => {
    const network = cloud();
    const [external] = await network.list("/networks?router:external=true", "admin");
    expect(external).toMatchObject({
      name: "public",
      project_id: "admin",
      shared: false,
      is_default: true,
      mtu: 1500,
      "provider:network_type": "flat",
      "provider:physical_network": "public",
    });
    const subnets = await network.list(`/subnets?network_id=${external?.id}&sort_key=ip_version&sort_dir=asc`, "admin");
    expect(subnets).toMatchObject([
      { name: "public-subnet", cidr: "172.24.4.0/24", gateway_ip: "172.24.4.1", enable_dhcp: false },
      { name: "ipv6-public-subnet", cidr: "2001:db8::/64", gateway_ip: "2001:db8::2", enable_dhcp: false },
    ]);
  });

  test("has a network of demo, whose subnets come from the pools", async () => {
    const network = cloud();
    const [own] = await network.list("/networks?name=private");
    expect(own).toMatchObject({ project_id: "demo", shared: false, mtu: 1450 });
    const subnets = await network.list(`/subnets?network_id=${own?.id}&sort_key=ip_version&sort_dir=asc`);
    expect(subnets).toMatchObject([
      { name: "private-subnet", cidr: "10.0.0.0/26", gateway_ip: "10.0.0.1", enable_dhcp: true },
      { name: "ipv6-private-subnet", cidr: "fd12:3456:789a::/64", ipv6_ra_mode: "slaac", ipv6_address_mode: "slaac" },
    ]);
    expect(await network.list("/networks?name=private", "alt")).toEqual([]);
  });

  test("connects demo's subnets with the external network by a router", async () => {
    const network = cloud();
    const [router] = await network.list("/routers");
    const [external] = await network.list("/networks?name=public");
    expect(router).toMatchObject({
      id: "c0ffee00-0000-4000-8000-000000000060",
      name: "router1",
      project_id: "demo",
      external_gateway_info: { network_id: external?.id },
    });
    const ports = await network.list(`/ports?device_id=${router?.id}&device_owner=network:router_interface`);
    const addresses = ports.flatMap(({ fixed_ips: addresses }) => addresses as readonly Body[]);
    expect(addresses.map(({ ip_address: address }) => address).sort()).toEqual(["10.0.0.1", "fd12:3456:789a::1"]);
  });

  test("has a large network that all projects share", async () => {
    const network = cloud();
    const [shared] = await network.list("/networks?shared=true", "alt");
    expect(shared).toMatchObject({ name: "shared", shared: true, mtu: 1450 });
    expect(await network.list(`/subnets?network_id=${shared?.id}`, "alt")).toMatchObject([
      { name: "shared-subnet", cidr: "10.128.0.0/9", enable_dhcp: false },
    ]);
  });

  test("has neither demo's network nor its router without the project demo", async () => {
    const network = startedWith({ start: "devstack", projects: { admin: "admin" } });
    expect(namesOf(await network.list("/networks", "admin"))).toEqual(["public", "shared"]);
    expect(await network.list("/routers", "admin")).toEqual([]);
  });
});

test("a cloud that starts flat has one shared network with fixed ids", async () => {
  const network = startedWith({ start: "flat", projects: PROJECTS });
  expect(await network.list("/networks", "alt")).toMatchObject([
    { id: "c0ffee00-0000-4000-8000-000000000010", name: "private", shared: true, mtu: 1500, project_id: "" },
  ]);
  expect(await network.list("/subnets", "alt")).toMatchObject([
    {
      id: "c0ffee00-0000-4000-8000-000000000011",
      name: "private-subnet",
      cidr: "10.0.0.0/12",
      gateway_ip: "10.0.0.1",
      allocation_pools: [{ start: "10.0.0.2", end: "10.15.255.254" }],
      enable_dhcp: false,
    },
  ]);
});

test("a cloud that starts empty has no network", async () => {
  expect(await startedWith({ start: "empty", projects: PROJECTS }).list("/networks", "admin")).toEqual([]);
});

test("a later start creates nothing twice, and nothing that a user deleted", async () => {
  const network = startedWith({ start: "devstack", projects: PROJECTS });
  const [shared] = await network.list("/networks?name=shared", "admin");
  await network.get("DELETE", `/networks/${shared?.id}`, undefined, "admin");
  start(network, { start: "devstack", projects: PROJECTS });
  expect(namesOf(await network.list("/networks", "admin"))).toEqual(["private", "public"]);
});

test("a start with another option adds its networks", async () => {
  const network = startedWith({ start: "flat", projects: PROJECTS });
  start(network, { start: "empty", projects: PROJECTS });
  expect(await network.list("/networks", "admin")).toHaveLength(1);
});
