import { describe, expect, test } from "vitest";
import { type Body, NetworkHarness } from "./network-harness.js";

const VLAN = { "provider:network_type": "vlan", "provider:physical_network": "physnet1" };

function createNetwork(network: NetworkHarness, attributes: Body): Promise<Body> {
  return network.get("POST", "/networks", { network: { name: "n", ...attributes } }, "admin");
}

describe("a provider network", () => {
  test.each([
    [{ ...VLAN, "provider:segmentation_id": 111 }, "vlan", "physnet1", 111, 1500],
    [VLAN, "vlan", "physnet1", 100, 1500],
    [{ "provider:network_type": "vlan" }, "vlan", "physnet1", 100, 1500],
    [{ ...VLAN, "provider:physical_network": "public" }, "vlan", "public", 1, 1500],
    [{ "provider:network_type": "flat", "provider:physical_network": "public" }, "flat", "public", null, 1500],
    [{ "provider:network_type": "vxlan", "provider:segmentation_id": 5000 }, "vxlan", null, 5000, 1450],
    [{ "provider:network_type": "gre" }, "gre", null, 1, 1458],
    [{ "provider:network_type": "geneve" }, "geneve", null, 1, 1450],
    [{ "provider:network_type": "local" }, "local", null, null, 1500],
  ])("of %j has the right segment and MTU", async (attributes, type, physicalNetwork, id, mtu) => {
    const network = new NetworkHarness();
    const created = await createNetwork(network, attributes);
    expect(created).toMatchObject({
      "provider:network_type": type,
      "provider:physical_network": physicalNetwork,
      "provider:segmentation_id": id,
      mtu,
    });
    expect(await network.list(`/segments?network_id=${created.id}`, "admin")).toMatchObject([
      { name: null, description: null, network_type: type, physical_network: physicalNetwork, segmentation_id: id },
    ]);
  });

  const INVALID = "400 InvalidInput: Invalid input for operation:";
  test.each([
    [{ "provider:physical_network": "physnet1" }, "network_type required."],
    [{ "provider:network_type": "infiniband" }, "network_type value 'infiniband' not supported."],
    [{ "provider:network_type": "flat" }, "physical_network required for flat provider network."],
    [
      { "provider:network_type": "flat", "provider:physical_network": "x" },
      "physical_network 'x' unknown for flat provider network.",
    ],
    [
      { "provider:network_type": "flat", "provider:physical_network": "public", "provider:segmentation_id": 5 },
      "segmentation_id prohibited for flat provider network.",
    ],
    [
      { "provider:network_type": "local", "provider:segmentation_id": 5 },
      "segmentation_id prohibited for local provider network.",
    ],
    [
      { "provider:network_type": "vlan", "provider:physical_network": "x" },
      "physical_network 'x' unknown for VLAN provider network.",
    ],
    [
      { "provider:network_type": "vlan", "provider:segmentation_id": 5 },
      "segmentation_id requires physical_network for VLAN provider network.",
    ],
    [{ ...VLAN, "provider:segmentation_id": 4095 }, "segmentation_id out of range (1 through 4094)."],
    [
      { "provider:network_type": "vxlan", "provider:physical_network": "x" },
      "provider:physical_network specified for vxlan network.",
    ],
    [{ mtu: 1451 }, "Requested MTU is too big, maximum is 1450."],
  ])("of %j is rejected", async (attributes, reason) => {
    const network = new NetworkHarness();
    const body = { network: { name: "n", ...attributes } };
    expect(await network.rejection("POST", "/networks", body, "admin")).toBe(`${INVALID} ${reason}`);
    expect(await network.list("/networks", "admin")).toEqual([]);
  });

  test.each([
    [
      { ...VLAN, "provider:segmentation_id": 111 },
      "409 VlanIdInUse: Unable to create the network. The VLAN 111 on physical network physnet1 is in use.",
    ],
    [
      { "provider:network_type": "flat", "provider:physical_network": "public" },
      "409 FlatNetworkInUse: Unable to create the flat network. Physical network public is in use.",
    ],
    [
      { "provider:network_type": "vxlan", "provider:segmentation_id": 7 },
      "409 TunnelIdInUse: Unable to create the network. The tunnel ID 7 is in use.",
    ],
  ])("of %j exists once", async (attributes, rejection) => {
    const network = new NetworkHarness();
    const { id } = await createNetwork(network, attributes);
    expect(await network.rejection("POST", "/networks", { network: attributes }, "admin")).toBe(rejection);
    await network.get("DELETE", `/networks/${id}`, undefined, "admin");
    await createNetwork(network, attributes);
  });

  test("can change its VLAN id alone", async () => {
    const network = new NetworkHarness();
    const { id } = await createNetwork(network, { ...VLAN, "provider:segmentation_id": 111 });
    const change = (attributes: Body) => [`/networks/${id}`, { network: attributes }, "admin"] as const;
    expect(await network.get("PUT", ...change({ "provider:segmentation_id": 112 }))).toMatchObject({
      "provider:segmentation_id": 112,
    });
    expect(await network.rejection("PUT", ...change({ "provider:physical_network": "x" }))).toMatch(
      /^400 InvalidInput: .*Plugin does not support updating the following provider network attributes/,
    );
  });
});

test.each(["", {}])("segments %j of a network are none, as for Neutron", async (segments) => {
  const network = new NetworkHarness();
  const created = await network.get("POST", "/networks", { network: { name: "net", segments } }, "admin");
  expect(created).toMatchObject({ "provider:network_type": "vxlan" });
});

test("a network can have several segments, which replace its provider attributes", async () => {
  const network = new NetworkHarness();
  const segments = [
    { ...VLAN, "provider:segmentation_id": 111 },
    { "provider:network_type": "vxlan", "provider:physical_network": null, "provider:segmentation_id": 9 },
  ];
  const created = await createNetwork(network, { segments });
  expect(created).toMatchObject({ segments, mtu: 1450 });
  expect(created).not.toHaveProperty("provider:network_type");
  const twice = { network: { segments: [segments[0], segments[0]] } };
  expect(await network.rejection("POST", "/networks", twice, "admin")).toBe(
    "400 SegmentsContainDuplicateEntry: Duplicate segment entry in request.",
  );
});

test("networks are found by attributes of their segments", async () => {
  const network = new NetworkHarness();
  await createNetwork(network, { name: "vlan", ...VLAN, "provider:segmentation_id": 111 });
  await createNetwork(network, { name: "tunnel" });
  const names = async (query: string) => (await network.list(`/networks?${query}`, "admin")).map(({ name }) => name);
  expect(await names("provider:network_type=vlan")).toEqual(["vlan"]);
  expect(await names("provider:physical_network=physnet1")).toEqual(["vlan"]);
  expect(await names("provider:segmentation_id=1")).toEqual(["tunnel"]);
});

test("freed ids are used again when the range has no others", async () => {
  const network = new NetworkHarness({ vxlanRange: [1, 3] });
  const [, second] = [
    await createNetwork(network, {}),
    await createNetwork(network, {}),
    await createNetwork(network, {}),
  ];
  expect(await network.rejection("POST", "/networks", { network: { name: "n" } })).toBe(
    "503 NoNetworkAvailable: Unable to create the network. No tenant network is available for allocation.",
  );
  await network.get("DELETE", `/networks/${second.id}`, undefined, "admin");
  expect(await createNetwork(network, {})).toMatchObject({ "provider:segmentation_id": 2 });
});

describe("a segment", () => {
  test("is added to a network, changed and deleted", async () => {
    const network = new NetworkHarness();
    const { id } = await createNetwork(network, {});
    const attributes = { network_id: id, network_type: "vlan", physical_network: "physnet1", name: "s" };
    const segment = await network.get("POST", "/segments", { segment: attributes }, "admin");
    expect(segment).toMatchObject({ ...attributes, segmentation_id: 100, description: "" });
    expect(segment).not.toHaveProperty("project_id");
    const changed = { name: "t", description: "d" };
    expect(await network.get("PUT", `/segments/${segment.id}`, { segment: changed }, "admin")).toMatchObject(changed);
    expect(await network.get("GET", `/networks/${id}`, undefined, "admin")).toMatchObject({
      segments: [{ "provider:network_type": "vxlan" }, { "provider:segmentation_id": 100 }],
    });
    await network.get("DELETE", `/segments/${segment.id}`, undefined, "admin");
    expect(await network.list("/segments", "admin")).toHaveLength(1);
  });

  test("with subnets cannot be deleted", async () => {
    const network = new NetworkHarness();
    const { id } = await createNetwork(network, { ...VLAN, "provider:segmentation_id": 111 });
    const [segment] = await network.list("/segments", "admin");
    const attributes = { network_id: id, ip_version: 4, cidr: "10.0.0.0/24", segment_id: segment?.id };
    const subnet = await network.get("POST", "/subnets", { subnet: attributes }, "admin");
    expect(await network.rejection("DELETE", `/segments/${segment?.id}`, undefined, "admin")).toBe(
      `409 SegmentInUse: Segment '${segment?.id}' cannot be deleted: The segment is still associated with subnet(s) ${subnet.id}.`,
    );
    expect(await network.get("GET", `/networks/${id}`, undefined, "admin")).toMatchObject({ l2_adjacency: false });
  });

  test("is the only one of its type in a physical network", async () => {
    const network = new NetworkHarness();
    const { id } = await createNetwork(network, VLAN);
    const segment = { network_id: id, network_type: "vlan", physical_network: "physnet1" };
    expect(await network.rejection("POST", "/segments", { segment }, "admin")).toBe(
      "409 NeutronDbObjectDuplicateEntry: Failed to create a duplicate NetworkSegment: for attribute(s) " +
        `['network_id', 'network_type', 'physical_network'] with value(s) ${id}-vlan-physnet1`,
    );
  });

  test("belongs to administrators", async () => {
    const network = new NetworkHarness();
    const { id } = await network.get("POST", "/networks", { network: {} });
    const body = { segment: { network_id: id, network_type: "vxlan" } };
    expect(await network.rejection("POST", "/segments", body)).toContain("403 PolicyNotAuthorized");
    expect(await network.list("/segments")).toEqual([]);
  });
});

describe("a segment range", () => {
  const RANGE = { network_type: "vlan", physical_network: "physnet1", minimum: 300, maximum: 302 };

  test("gives its project ids before the common ranges", async () => {
    const network = new NetworkHarness();
    const range = { ...RANGE, shared: false, project_id: "demo" };
    const { id } = await network.get("POST", "/network-segment-ranges", { network_segment_range: range }, "admin");
    expect(await createNetwork(network, { ...VLAN, project_id: "demo" })).toMatchObject({
      "provider:segmentation_id": 300,
    });
    expect(await createNetwork(network, VLAN)).toMatchObject({ "provider:segmentation_id": 100 });
    expect(await network.get("GET", `/network-segment-ranges/${id}`, undefined, "admin")).toMatchObject({
      available: [301, 302],
      used: { 300: "demo" },
      shared: false,
      project_id: "demo",
    });
    expect(await network.rejection("DELETE", `/network-segment-ranges/${id}`, undefined, "admin")).toBe(
      `409 NetworkSegmentRangeReferencedByProject: Network Segment Range ${id} is referenced by one or more tenant networks.`,
    );
  });

  test("without a physical network shows it in responses to changes, and always shows its standard attributes", async () => {
    const network = new NetworkHarness();
    const range = { name: "x", network_type: "gre", minimum: 2000, maximum: 2001 };
    const { id } = await network.get("POST", "/network-segment-ranges", { network_segment_range: range }, "admin");
    const url = `/network-segment-ranges/${id}`;
    const change = { network_segment_range: { name: "y" } };
    expect(await network.get("PUT", url, change, "admin")).toMatchObject({ physical_network: null });
    expect(await network.get("GET", url, undefined, "admin")).not.toHaveProperty("physical_network");
    const view = await network.get("GET", `${url}?fields=name&fields=physical_network`, undefined, "admin");
    expect(Object.keys(view).sort()).toEqual([
      "created_at",
      "description",
      "name",
      "revision_number",
      "tags",
      "updated_at",
    ]);
  });

  test("of another project is unknown to members, and a shared one hidden from them", async () => {
    const network = new NetworkHarness();
    const rejectionFor = async (attributes: Body) => {
      const body = { network_segment_range: { ...RANGE, ...attributes } };
      const { id } = await network.get("POST", "/network-segment-ranges", body, "admin");
      return network.rejection("GET", `/network-segment-ranges/${id}`);
    };
    expect(await rejectionFor({ shared: true })).toBe("404 HTTPNotFound: The resource could not be found.");
    const foreign = { minimum: 400, maximum: 401, shared: false, project_id: "alt" };
    expect(await rejectionFor(foreign)).toContain("404 NetworkSegmentRangeNotFound");
  });

  test("does not overlap another", async () => {
    const network = new NetworkHarness();
    const body = { network_segment_range: RANGE };
    const { id } = await network.get("POST", "/network-segment-ranges", body, "admin");
    expect(await network.rejection("POST", "/network-segment-ranges", body, "admin")).toBe(
      `409 NetworkSegmentRangeOverlaps: Network segment range overlaps with range(s) with id ${id}`,
    );
  });

  test.each([
    [{ network_type: "flat" }, "400 HTTPBadRequest: Invalid input for network_type."],
    [
      { network_type: "geneve", maximum: 2 ** 24 },
      "500 NetworkTunnelRangeError: Invalid network tunnel range: '300:16777216' - 16777216 is not a valid geneve identifier.",
    ],
    [{ physical_network: undefined }, "400 BadRequest: Bad network_segment_range request: Network type vlan requires"],
    [
      { maximum: 4095 },
      "500 NetworkVlanRangeError: Invalid network VLAN range: '300:4095' - '4095 is not a valid VLAN tag'.",
    ],
    [
      { maximum: 3 },
      "500 NetworkVlanRangeError: Invalid network VLAN range: '300:3' - 'End of VLAN range is less than",
    ],
  ])("with %j is rejected", async (attributes, rejection) => {
    const network = new NetworkHarness();
    const body = { network_segment_range: { ...RANGE, ...attributes } };
    expect(await network.rejection("POST", "/network-segment-ranges", body, "admin")).toContain(rejection);
  });

  test("of the options cannot change", async () => {
    const network = new NetworkHarness();
    const ranges = await network.list("/network-segment-ranges", "admin");
    expect(ranges.map(({ network_type: type, minimum, maximum }) => [type, minimum, maximum])).toEqual([
      ["vlan", 100, 199],
      ["vlan", 1, 4094],
      ["vxlan", 1, 1000],
      ["gre", 1, 1000],
      ["geneve", 1, 1000],
    ]);
    const [range] = ranges;
    expect(await network.rejection("DELETE", `/network-segment-ranges/${range?.id}`, undefined, "admin")).toBe(
      `400 NetworkSegmentRangeDefaultReadOnly: Network Segment Range ${range?.id} is a default segment range which could not be updated or deleted.`,
    );
  });
});
