import { beforeEach, describe, expect, test } from "vitest";
import { type Body, NetworkHarness } from "./network-harness.js";
import { addHosts } from "./port-fixtures.js";

let network: NetworkHarness;
let networkId: unknown;

async function createNetwork(attributes: Body = {}) {
  return (await network.get("POST", "/networks", { network: { tenant_id: "demo", ...attributes } }, "admin")).id;
}

async function createPort(attributes: Body = {}): Promise<string> {
  return String((await network.get("POST", "/ports", { port: { network_id: networkId, ...attributes } })).id);
}

const createTrunk = (attributes: Body) => network.get("POST", "/trunks", { trunk: attributes });

const rejectionOf = (attributes: Body) => network.rejection("POST", "/trunks", { trunk: attributes });

const vlan = (portId: string, id: unknown) => ({ port_id: portId, segmentation_type: "vlan", segmentation_id: id });

beforeEach(async () => {
  network = new NetworkHarness();
  networkId = await createNetwork();
});

describe("a trunk", () => {
  test("is created with its subports", async () => {
    const [parent, child] = [await createPort(), await createPort()];
    const trunk = await createTrunk({ name: "trunk1", port_id: parent, sub_ports: [vlan(child, "10")] });
    expect(trunk).toEqual({
      id: trunk.id,
      name: "trunk1",
      description: "",
      project_id: "demo",
      tenant_id: "demo",
      port_id: parent,
      status: "DOWN",
      admin_state_up: true,
      sub_ports: [vlan(child, 10)],
      tags: [],
      revision_number: 0,
      created_at: trunk.created_at,
      updated_at: trunk.created_at,
    });
    expect(await network.list(`/trunks?port_id=${parent}`)).toEqual([trunk]);
    expect(await network.rejection("GET", `/trunks/${trunk.id}`, undefined, "alt")).toBe(
      `404 TrunkNotFound: Trunk ${trunk.id} could not be found.`,
    );
  });

  test("gets and loses subports, which raises its revision", async () => {
    const [parent, first, second] = [await createPort(), await createPort(), await createPort()];
    const { id } = await createTrunk({ port_id: parent, sub_ports: [vlan(first, 10)] });
    const added = await network.send("PUT", `/trunks/${id}/add_subports`, { sub_ports: [vlan(second, 5)] });
    expect(added.json()).toMatchObject({ id, sub_ports: [vlan(second, 5), vlan(first, 10)], revision_number: 1 });
    expect((await network.send("GET", `/trunks/${id}/get_subports`, undefined, "reader")).json()).toEqual({
      sub_ports: [vlan(second, 5), vlan(first, 10)],
    });
    const removed = await network.send("PUT", `/trunks/${id}/remove_subports`, { sub_ports: [{ port_id: first }] });
    expect(removed.json()).toMatchObject({ sub_ports: [vlan(second, 5)], revision_number: 2 });
  });

  test("gives its subports the segmentation of their network if they inherit it", async () => {
    const parent = await createPort();
    const provider = { "provider:network_type": "vlan", "provider:physical_network": "physnet1" };
    networkId = await createNetwork({ ...provider, "provider:segmentation_id": 150, mtu: 1450 });
    const child = await createPort();
    const sub_ports = [{ port_id: child, segmentation_type: "inherit" }];
    expect(await createTrunk({ port_id: parent, sub_ports })).toMatchObject({ sub_ports: [vlan(child, 150)] });
  });

  test("frees its ports when it is deleted", async () => {
    const [parent, child] = [await createPort(), await createPort()];
    const { id } = await createTrunk({ port_id: parent, sub_ports: [vlan(child, 10)] });
    await network.get("DELETE", `/trunks/${id}`);
    await createTrunk({ port_id: child, sub_ports: [vlan(parent, 10)] });
  });

  test("stays if its owner does not see its port", async () => {
    const port = await createPort();
    const trunk = { project_id: "alt", port_id: port };
    const { id } = await network.get("POST", "/trunks", { trunk }, "admin");
    expect(await network.rejection("DELETE", `/trunks/${id}`, undefined, "alt")).toContain("404 PortNotFound");
    expect(await network.rejection("POST", "/trunks", { trunk: { port_id: port } }, "alt")).toContain(
      "409 ParentPortInUse",
    );
  });

  test("of another project goes with its port", async () => {
    const port = await createPort();
    const { id } = await network.get("POST", "/trunks", { trunk: { project_id: "alt", port_id: port } }, "admin");
    expect((await network.send("DELETE", `/ports/${port}`)).status).toBe(204);
    expect(await network.rejection("GET", `/trunks/${id}`, undefined, "admin")).toContain("404 TrunkNotFound");
  });

  test("is changed only by its project's members", async () => {
    const { id } = await createTrunk({ port_id: await createPort() });
    const body = { trunk: { name: "x" } };
    expect(await network.rejection("PUT", `/trunks/${id}`, body, "reader")).toBe(
      "403 PolicyNotAuthorized: rule:update_trunk is disallowed by policy",
    );
    expect(await network.rejection("DELETE", `/trunks/${id}`, undefined, "alt")).toContain("404 TrunkNotFound");
    expect(await network.rejection("PUT", `/trunks/${id}/add_subports`, { sub_ports: [] }, "alt")).toContain(
      "404 TrunkNotFound",
    );
  });
});

describe("a trunk that is disabled", () => {
  test("is neither changed nor deleted", async () => {
    const [parent, child] = [await createPort(), await createPort()];
    const { id } = await createTrunk({ port_id: parent, admin_state_up: false });
    const message = `409 TrunkDisabled: Trunk ${id} is currently disabled.`;
    const sub_ports = [vlan(child, 1)];
    expect(await network.rejection("PUT", `/trunks/${id}/add_subports`, { sub_ports })).toBe(message);
    expect(await network.rejection("PUT", `/trunks/${id}/remove_subports`, { sub_ports })).toBe(message);
    expect(await network.rejection("DELETE", `/trunks/${id}`)).toBe(message);
    await network.get("PUT", `/trunks/${id}`, { trunk: { admin_state_up: true } });
    await network.get("DELETE", `/trunks/${id}`);
  });
});

describe("the parent of a trunk", () => {
  const inUse = (id: string) =>
    `409 ParentPortInUse: Port ${id} is currently in use and is not eligible for use as a parent port.`;

  test("belongs to no other trunk", async () => {
    const [parent, child] = [await createPort(), await createPort()];
    await createTrunk({ port_id: parent, sub_ports: [vlan(child, 1)] });
    expect(await rejectionOf({ port_id: parent })).toBe(inUse(parent));
    expect(await rejectionOf({ port_id: child })).toBe(`409 TrunkPortInUse: Port ${child} is in use by another trunk.`);
  });

  test("is not one of its subports", async () => {
    const parent = await createPort();
    expect(await rejectionOf({ port_id: parent, sub_ports: [vlan(parent, 1)] })).toBe(inUse(parent));
  });

  test("of another project is unknown, even if it has a trunk", async () => {
    const port = await createPort();
    await createTrunk({ port_id: port });
    expect(await network.rejection("POST", "/trunks", { trunk: { port_id: port } }, "alt")).toBe(
      `404 PortNotFound: Port ${port} could not be found.`,
    );
  });

  test("is a port that the caller sees", async () => {
    const id = "4c8a16e3-92b8-43ed-96db-1f27ce51d169";
    expect(await rejectionOf({ port_id: id })).toBe(`404 PortNotFound: Port ${id} could not be found.`);
    const foreign = await createPort();
    expect(await network.rejection("POST", "/trunks", { trunk: { port_id: foreign } }, "alt")).toBe(
      `404 PortNotFound: Port ${foreign} could not be found.`,
    );
  });

  test("is not bound when the trunk is created or deleted", async () => {
    const [bound, free] = [await createPort(), await createPort()];
    await bind(bound);
    expect(await rejectionOf({ port_id: bound })).toBe(inUse(bound));
    const { id } = await createTrunk({ port_id: free });
    await bind(free);
    expect(await network.rejection("DELETE", `/trunks/${id}`)).toBe(`409 TrunkInUse: Trunk ${id} is currently in use.`);
  });

  test("shows the trunk with its subports and their MAC addresses", async () => {
    const [parent, child] = [await createPort(), await createPort()];
    const { id } = await createTrunk({ port_id: parent, sub_ports: [vlan(child, 10)] });
    const { mac_address } = await network.get("GET", `/ports/${child}`);
    const trunk_details = { trunk_id: id, sub_ports: [{ ...vlan(child, 10), mac_address }] };
    expect(await network.list("/ports?fields=trunk_details&fields=id")).toEqual([
      { id: parent, trunk_details },
      { id: child },
    ]);
  });

  test("is not deleted, and neither are its subports", async () => {
    const [parent, child] = [await createPort(), await createPort()];
    const { id } = await createTrunk({ port_id: parent, sub_ports: [vlan(child, 10)] });
    expect(await network.rejection("DELETE", `/ports/${parent}`)).toBe(
      `409 PortInUseAsTrunkParent: Port ${parent} is currently a parent port for trunk ${id}.`,
    );
    expect(await network.rejection("DELETE", `/ports/${child}`)).toBe(
      `409 PortInUseAsSubPort: Port ${child} is currently a subport for trunk ${id}.`,
    );
  });

  test("is plugged into the bridge of the trunk", async () => {
    addHosts(network, "host1");
    const parent = await createPort();
    const { id } = await createTrunk({ port_id: parent });
    const bound = await bind(parent);
    expect(bound).toMatchObject({ "binding:vif_details": { bridge_name: `tbr-${id}`.slice(0, 14) } });
  });

  test("takes its subports to its host and off it", async () => {
    const [parent, child, later] = [await createPort(), await createPort(), await createPort()];
    const { id } = await createTrunk({ port_id: parent, sub_ports: [vlan(child, 10)] });
    const placeOf = async (port: string) => {
      const query = "fields=binding:host_id&fields=device_owner";
      return network.get("GET", `/ports/${port}?${query}`, undefined, "admin");
    };
    await bind(parent);
    await network.get("GET", `/trunks/${id}`);
    await network.send("PUT", `/trunks/${id}/add_subports`, { sub_ports: [vlan(later, 11)] });
    for (const port of [child, later]) {
      expect(await placeOf(port)).toEqual({ "binding:host_id": "host1", device_owner: "trunk:subport" });
    }
    await network.send("PUT", `/trunks/${id}/remove_subports`, { sub_ports: [{ port_id: later }] });
    expect(await placeOf(later)).toEqual({ "binding:host_id": "", device_owner: "" });
    await bind(parent, "");
    expect(await placeOf(child)).toEqual({ "binding:host_id": "", device_owner: "" });
  });
});

describe("a subport", () => {
  let parent: string;
  let child: string;

  beforeEach(async () => {
    parent = await createPort();
    child = await createPort();
  });

  const invalid = (message: string) => `400 InvalidInput: Invalid input for operation: ${message}.`;

  test.each([
    [{ segmentation_type: "vxlan", segmentation_id: 1 }, "Unknown segmentation_type 'vxlan'"],
    [{ segmentation_type: "vlan", segmentation_id: 4095 }, "Segmentation ID '4095' is not in range"],
    [{ segmentation_type: "vlan", segmentation_id: 0 }, "Segmentation ID '0' is not in range"],
    [
      { segmentation_type: "vlan", segmentation_id: "x" },
      "Invalid subport details: segmentation_id 'x' is not an integer",
    ],
    [{ segmentation_type: "inherit" }, "Unknown segmentation_type 'vxlan'"],
  ])("needs a VLAN: %o is none", async (segmentation, message) => {
    expect(await rejectionOf({ port_id: parent, sub_ports: [{ port_id: child, ...segmentation }] })).toBe(
      invalid(message),
    );
  });

  test("needs a segmentation", async () => {
    expect(await rejectionOf({ port_id: parent, sub_ports: [{ port_id: child }] })).toBe(
      invalid(
        `Invalid subport details '{'port_id': '${child}'}': missing segmentation information. Must specify both segmentation_id and segmentation_type`,
      ),
    );
  });

  test("has a segmentation that no other subport of the trunk has", async () => {
    const { id } = await createTrunk({ port_id: parent, sub_ports: [vlan(child, 11)] });
    const sub_ports = [vlan(await createPort(), 11)];
    expect(await network.rejection("PUT", `/trunks/${id}/add_subports`, { sub_ports })).toBe(
      `409 DuplicateSubPort: segmentation_type vlan and segmentation_id 11 already in use on trunk ${id}.`,
    );
    expect(await network.list("/trunks?fields=sub_ports")).toEqual([{ sub_ports: [vlan(child, 11)] }]);
  });

  test("belongs to no other trunk", async () => {
    const first = await createTrunk({ port_id: parent, sub_ports: [vlan(child, 1)] });
    const { id } = await createTrunk({ port_id: await createPort() });
    const add = (port: string) =>
      network.rejection("PUT", `/trunks/${id}/add_subports`, { sub_ports: [vlan(port, 1)] });
    expect(await add(child)).toBe(`409 TrunkPortInUse: Port ${child} is in use by another trunk.`);
    expect(await add(String(first.port_id))).toContain("409 ParentPortInUse");
  });

  test("has no device", async () => {
    await network.get("PUT", `/ports/${child}`, { port: { device_id: "x" } });
    expect(await rejectionOf({ port_id: parent, sub_ports: [vlan(child, 1)] })).toBe(
      `409 PortInUse: Unable to complete operation on port ${child} for network ${networkId}. Port already has an attached device x.`,
    );
  });

  test("has no larger MTU than the parent", async () => {
    networkId = await createNetwork({ mtu: 1400 });
    const small = await createPort();
    expect(await rejectionOf({ port_id: small, sub_ports: [vlan(child, 1)] })).toBe(
      `409 SubPortMtuGreaterThanTrunkPortMtu: MTU 1450 of subport ${child} cannot be greater than MTU 1400 of trunk ${small}.`,
    );
  });

  test("can be removed only from its trunk", async () => {
    const { id } = await createTrunk({ port_id: parent });
    expect(await network.rejection("PUT", `/trunks/${id}/remove_subports`, { sub_ports: [{ port_id: child }] })).toBe(
      `404 SubPortNotFound: SubPort ${child} on trunk ${id} could not be found.`,
    );
  });

  test.each([
    [{ sub_ports: "x" }, invalid("Invalid data format for subports: 'x' is not a list")],
    [{ sub_ports: [{}] }, invalid("A valid port UUID must be specified")],
    [{}, "400 HTTPBadRequest: The request has a value of an unexpected type."],
  ])("is not added by the body %o", async (body, message) => {
    const { id } = await createTrunk({ port_id: parent });
    expect(await network.rejection("PUT", `/trunks/${id}/add_subports`, body)).toBe(message);
  });
});

/** Binds a port as Compute does. The host's agent need not be alive for that. */
function bind(port: string, host = "host1") {
  return network.get("PUT", `/ports/${port}`, { port: { "binding:host_id": host } }, "service");
}
