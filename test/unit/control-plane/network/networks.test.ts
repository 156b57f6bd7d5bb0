import { describe, expect, test } from "vitest";
import { NetworkHarness } from "./network-harness.js";

describe("a network", () => {
  test("has a VXLAN segment, the MTU of tunnels and the defaults", async () => {
    const network = new NetworkHarness();
    const created = await network.get("POST", "/networks", { network: { name: "one" } });
    expect(created).toMatchObject({
      name: "one",
      admin_state_up: true,
      mtu: 1450,
      status: "ACTIVE",
      subnets: [],
      shared: false,
      "router:external": false,
      availability_zone_hints: ["nova"],
      availability_zones: [],
      ipv4_address_scope: null,
      ipv6_address_scope: null,
      description: "",
      port_security_enabled: true,
      qos_policy_id: null,
      dns_domain: "",
      l2_adjacency: true,
      tags: [],
      revision_number: 1,
      project_id: "demo",
      tenant_id: "demo",
    });
    expect(created).not.toHaveProperty("provider:network_type");
    expect(created).not.toHaveProperty("segments");
    expect(await network.get("GET", `/networks/${created.id}`, undefined, "admin")).toMatchObject({
      "provider:network_type": "vxlan",
      "provider:physical_network": null,
      "provider:segmentation_id": 1,
    });
  });

  test("changes with its revision", async () => {
    const network = new NetworkHarness();
    const { id } = await network.get("POST", "/networks", { network: { name: "one" } });
    const changed = await network.get("PUT", `/networks/${id}`, { network: { name: "two", mtu: 1300 } });
    expect(changed).toMatchObject({ name: "two", mtu: 1300, revision_number: 2 });
    expect(await network.get("PUT", `/networks/${id}`, { network: { mtu: 0 } })).toMatchObject({ mtu: 1450 });
  });

  test("is visible to other projects only if it is shared or external", async () => {
    const network = new NetworkHarness();
    const own = await network.get("POST", "/networks", { network: { name: "own" } });
    const shared = await network.get("POST", "/networks", { network: { name: "s", shared: true } }, "admin");
    const external = await network.get(
      "POST",
      "/networks",
      { network: { name: "e", "router:external": true } },
      "admin",
    );
    const names = async (caller: "demo" | "alt", query = "") =>
      (await network.list(`/networks${query}`, caller)).map(({ name }) => name);
    expect(await names("demo")).toEqual(["own", "s", "e"]);
    expect(await names("alt")).toEqual(["s", "e"]);
    expect(await names("alt", "?shared=True")).toEqual(["s"]);
    expect(await names("alt", "?shared=False")).toEqual(["e"]);
    expect(await names("demo", "?router:external=true")).toEqual(["e"]);
    expect(await names("demo", "?router:external=False&project_id=demo")).toEqual(["own"]);
    expect(await network.rejection("GET", `/networks/${own.id}`, undefined, "alt")).toBe(
      `404 NetworkNotFound: Network ${own.id} could not be found.`,
    );
    expect(await network.get("GET", `/networks/${shared.id}`, undefined, "alt")).toMatchObject({ shared: true });
    expect(await network.get("GET", `/networks/${external.id}`, undefined, "alt")).toMatchObject({
      shared: false,
      "router:external": true,
      is_default: false,
    });
  });

  test.each([
    [{ name: "x", shared: true }, "(rule:create_network and rule:create_network:shared)"],
    [{ name: "x", "router:external": true }, "(rule:create_network and rule:create_network:router:external)"],
    [
      { name: "x", "provider:network_type": "flat" },
      "(rule:create_network and rule:create_network:provider:network_type)",
    ],
  ])("of a member cannot be %j", async (attributes, rules) => {
    const network = new NetworkHarness();
    expect(await network.rejection("POST", "/networks", { network: attributes })).toBe(
      `403 PolicyNotAuthorized: ${rules} is disallowed by policy`,
    );
  });

  test("with ports cannot be deleted, and without them takes its segments and policies", async () => {
    const network = new NetworkHarness();
    const { id } = await network.get("POST", "/networks", { network: { name: "n", shared: true } }, "admin");
    const port = await network.get("POST", "/ports", { port: { network_id: id } }, "admin");
    expect(await network.rejection("DELETE", `/networks/${id}`, undefined, "admin")).toBe(
      `409 NetworkInUse: Unable to complete operation on network ${id}. There are one or more ports still in use on the network, id for these ports is: ${port.id}.`,
    );
    await network.get("DELETE", `/ports/${port.id}`, undefined, "admin");
    await network.get("DELETE", `/networks/${id}`, undefined, "admin");
    expect(await network.list("/segments", "admin")).toEqual([]);
    expect(await network.list("/rbac-policies", "admin")).toEqual([]);
  });

  test("takes its subnets and the ports of DHCP when it is deleted", async () => {
    const network = new NetworkHarness();
    const { id } = await network.get("POST", "/networks", { network: { name: "n" } });
    await network.get("POST", "/subnets", { subnet: { network_id: id, ip_version: 4, cidr: "10.0.0.0/24" } });
    await network.get("POST", "/ports", { port: { network_id: id, device_owner: "network:dhcp" } }, "admin");
    await network.get("DELETE", `/networks/${id}`);
    expect(await network.list("/subnets")).toEqual([]);
    expect(await network.list("/ports", "admin")).toEqual([]);
  });

  const MTU = { mtu: 9000 };
  const POLICY = { qos_policy_id: "00000000-0000-4000-8000-000000000000" };
  const ZONE = { availability_zone_hints: ["far"] };
  test.each([
    [{ ...ZONE, ...POLICY, ...MTU }, "400 InvalidInput: Invalid input for operation: Requested MTU is too big"],
    [{ ...ZONE, ...POLICY }, "404 QosPolicyNotFound"],
  ])("with several errors is rejected as by Neutron: %j", async (attributes, rejection) => {
    expect(await new NetworkHarness().rejection("POST", "/networks", { network: attributes })).toContain(rejection);
  });

  test("has availability zone hints that exist", async () => {
    const network = new NetworkHarness();
    const body = { network: { name: "n", availability_zone_hints: ["far"] } };
    expect(await network.rejection("POST", "/networks", body)).toBe(
      "404 AvailabilityZoneNotFound: AvailabilityZone far could not be found.",
    );
    expect(await network.list("/networks")).toEqual([]);
  });

  test("needs a QoS policy that the caller can see", async () => {
    const network = new NetworkHarness();
    const id = "00000000-0000-4000-8000-000000000000";
    const attributes = { name: "n", qos_policy_id: id };
    expect(await network.rejection("POST", "/networks", { network: attributes })).toBe(
      `404 QosPolicyNotFound: QoS policy ${id} could not be found.`,
    );
  });
});

describe("an external network", () => {
  test("is shared by a policy for all projects, which goes with the attribute", async () => {
    const network = new NetworkHarness();
    const { id } = await network.get("POST", "/networks", { network: { "router:external": true } }, "admin");
    expect(await network.list("/rbac-policies", "admin")).toMatchObject([
      { object_id: id, object_type: "network", action: "access_as_external", target_tenant: "*" },
    ]);
    await network.get("PUT", `/networks/${id}`, { network: { "router:external": false } }, "admin");
    expect(await network.list("/rbac-policies", "admin")).toEqual([]);
    await network.get("PUT", `/networks/${id}`, { network: { "router:external": true } }, "admin");
    expect(await network.list("/rbac-policies", "admin")).toHaveLength(1);
  });

  test("cannot become internal while a router has its gateway there", async () => {
    const network = new NetworkHarness();
    const { id } = await network.get("POST", "/networks", { network: { "router:external": true } }, "admin");
    await network.get("POST", "/subnets", { subnet: { network_id: id, ip_version: 4, cidr: "10.9.0.0/24" } }, "admin");
    await network.get("POST", "/routers", { router: { external_gateway_info: { network_id: id } } }, "admin");
    const body = { network: { "router:external": false } };
    expect(await network.rejection("PUT", `/networks/${id}`, body, "admin")).toBe(
      `409 ExternalNetworkInUse: External network ${id} cannot be updated to be made non-external, since it has existing gateway ports.`,
    );
  });

  test("is the default one alone", async () => {
    const network = new NetworkHarness();
    const body = { network: { "router:external": true, is_default: true } };
    const { id } = await network.get("POST", "/networks", body, "admin");
    expect(await network.rejection("POST", "/networks", body, "admin")).toBe(
      `409 DefaultExternalNetworkExists: A default external network already exists: ${id}.`,
    );
  });
});

test("an internal network is no default one, although the response repeats the request", async () => {
  const network = new NetworkHarness();
  const created = await network.get("POST", "/networks", { network: { is_default: true } }, "admin");
  expect(created).toMatchObject({ is_default: true });
  const url = `/networks/${created.id}`;
  expect(await network.get("GET", url, undefined, "admin")).not.toHaveProperty("is_default");
  const external = { network: { "router:external": true } };
  expect(await network.get("PUT", url, external, "admin")).toMatchObject({ is_default: false });
});

test("a network that other projects use stays shared", async () => {
  const network = new NetworkHarness();
  const { id } = await network.get("POST", "/networks", { network: { name: "common", shared: true } }, "admin");
  await network.get("POST", "/ports", { port: { network_id: id } }, "demo");
  const body = { network: { shared: false } };
  expect(await network.rejection("PUT", `/networks/${id}`, body, "admin")).toBe(
    "409 InvalidSharedSetting: Unable to reconfigure sharing settings for network common. Multiple tenants are using it.",
  );
});
