import { describe, expect, test } from "vitest";
import type { Caller } from "../../../fixtures/callers.js";
import { NetworkHarness } from "./network-harness.js";
import { addHosts, createNetwork, createPort, OF_SERVER, updatePort } from "./port-fixtures.js";

const OVS = {
  connectivity: "l2",
  port_filter: true,
  ovs_hybrid_plug: null,
  datapath_type: "system",
  bridge_name: "br-int",
};

const onHost = (host: string, status: string) => ({
  host,
  status,
  vif_type: "ovs",
  vnic_type: "normal",
  profile: {},
  vif_details: OVS,
});

/** A port of a server on devstack1, with two more hosts. */
async function startBound() {
  const harness = new NetworkHarness();
  addHosts(harness, "devstack1", "devstack2", "devstack3");
  const network = await createNetwork(harness);
  const port = await createPort(harness, network, { ...OF_SERVER, "binding:host_id": "devstack1" }, "admin");
  const path = `/ports/${port.id}/bindings`;
  const bind = (host: string, more: object = {}) =>
    harness.get("POST", path, { binding: { host, ...more } }, "service");
  return { harness, network, port, path, bind };
}

describe("a port that is bound", () => {
  test("has its mechanism driver in responses to reads alone", async () => {
    const { harness, port } = await startBound();
    const details = { ...OVS, bound_drivers: { "0": "openvswitch" } };
    const url = `/ports/${port.id}`;
    expect((await harness.get("GET", url, undefined, "admin"))["binding:vif_details"]).toEqual(details);
    const [listed] = await harness.list(`/ports?id=${port.id}`, "admin");
    expect(listed?.["binding:vif_details"]).toEqual(details);
    const renamed = await harness.get("PUT", url, { port: { name: "x" } }, "admin");
    expect(renamed["binding:vif_details"]).toEqual(OVS);
    const moved = await harness.get("PUT", url, { port: { "binding:host_id": "devstack2" } }, "admin");
    expect(moved["binding:vif_details"]).toEqual(OVS);
  });
});

test.each([true, 5, ["devstack1"]])("a binding to the host %j is rejected, after the policies", async (host) => {
  const { harness, port, path } = await startBound();
  const rejection = "400 HTTPBadRequest: The request has a value of an unexpected type.";
  const change = { port: { "binding:host_id": host } };
  expect(await harness.rejection("PUT", `/ports/${port.id}`, change, "admin")).toBe(rejection);
  expect(await harness.rejection("POST", path, { binding: { host } }, "service")).toBe(rejection);
  expect(await harness.rejection("POST", path, { binding: { host } }, "admin")).toContain("403 PolicyNotAuthorized");
});

describe("a port that no server owns", () => {
  test.each(["GET", "DELETE"])("rejects %s of a binding that it lacks", async (method) => {
    const { harness, network } = await startBound();
    const { id } = await createPort(harness, network, {}, "admin");
    expect(await harness.rejection(method, `/ports/${id}/bindings/nohost`, undefined, "service")).toBe(
      `400 BadRequest: Bad port request: Invalid port ${id}. Operation only valid on compute ports.`,
    );
  });
});

describe("binding:host_id", () => {
  test("binds a port to a host with a live L2 agent", async () => {
    const { port } = await startBound();
    expect(port).toMatchObject({
      status: "DOWN",
      "binding:host_id": "devstack1",
      "binding:vif_type": "ovs",
      "binding:vif_details": OVS,
      "binding:profile": {},
    });
  });

  test.each([
    ["on a host without an agent", { "binding:host_id": "nohost" }, "binding_failed", {}],
    ["of a virtual function", { "binding:host_id": "devstack1", "binding:vnic_type": "direct" }, "binding_failed", {}],
    ["of a bare-metal node", { "binding:host_id": "node", "binding:vnic_type": "baremetal" }, "other", {}],
    ["without a host", { "binding:host_id": null }, "unbound", {}],
  ])("of a port %s gives vif_type as Neutron does", async (_what, attributes, vifType, details) => {
    const { harness, network } = await startBound();
    expect(await createPort(harness, network, attributes, "admin")).toMatchObject({
      "binding:vif_type": vifType,
      "binding:vif_details": details,
      "binding:host_id": attributes["binding:host_id"] ?? "",
      status: "DOWN",
    });
  });

  test("moves a port to another host, and unbinds it", async () => {
    const { harness, port } = await startBound();
    const moved = await updatePort(harness, port.id, { "binding:host_id": "devstack2" }, "admin");
    expect(moved).toMatchObject({ "binding:host_id": "devstack2", "binding:vif_type": "ovs" });
    expect(moved.revision_number).toBeGreaterThan(Number(port.revision_number));
    expect(await updatePort(harness, port.id, { "binding:host_id": "" }, "admin")).toMatchObject({
      "binding:host_id": "",
      "binding:vif_type": "unbound",
      "binding:vif_details": {},
    });
  });

  test("binds a port again when its agent has come back", async () => {
    const { harness, network } = await startBound();
    const port = await createPort(harness, network, { "binding:host_id": "devstack4" }, "admin");
    expect(port).toMatchObject({ "binding:vif_type": "binding_failed" });
    addHosts(harness, "devstack4");
    expect(await updatePort(harness, port.id, { "binding:host_id": "devstack4" }, "admin")).toMatchObject({
      "binding:vif_type": "ovs",
    });
  });

  test("has a profile that only services set", async () => {
    const { harness, port } = await startBound();
    const profile = { "binding:profile": { a: 1 } };
    expect(await harness.rejection("PUT", `/ports/${port.id}`, { port: profile }, "admin")).toBe(
      "403 PolicyNotAuthorized: (rule:update_port and rule:update_port:binding:profile) is disallowed by policy",
    );
    expect(await updatePort(harness, port.id, profile, "service")).toMatchObject(profile);
    expect(await updatePort(harness, port.id, { "binding:profile": null }, "service")).toMatchObject({
      "binding:profile": {},
    });
    const long = { "binding:profile": { a: "x".repeat(5000) } };
    expect(await harness.rejection("PUT", `/ports/${port.id}`, { port: long }, "service")).toBe(
      "400 InvalidInput: Invalid input for operation: binding:profile value too large.",
    );
  });
});

describe("the bindings of a port", () => {
  test("are created inactive beside the active one, shown and listed", async () => {
    const { harness, path, bind } = await startBound();
    expect(await bind("devstack2")).toEqual(onHost("devstack2", "INACTIVE"));
    expect(await harness.list(path, "service")).toEqual([
      onHost("devstack1", "ACTIVE"),
      onHost("devstack2", "INACTIVE"),
    ]);
    expect(await harness.get("GET", `${path}/devstack2`, undefined, "service")).toEqual(
      onHost("devstack2", "INACTIVE"),
    );
    expect(await harness.list(`${path}?host=devstack2&fields=host`, "service")).toEqual([{ host: "devstack2" }]);
    expect(await harness.list(path)).toEqual([]);
  });

  test("become active one at a time", async () => {
    const { harness, port, path, bind } = await startBound();
    await bind("devstack2");
    const reply = await harness.send("PUT", `${path}/devstack2/activate`, undefined, "service");
    expect(reply.json()).toEqual(onHost("devstack2", "ACTIVE"));
    expect(await harness.get("GET", `/ports/${port.id}`, undefined, "admin")).toMatchObject({
      "binding:host_id": "devstack2",
      status: "DOWN",
    });
    expect(await harness.list(path, "service")).toMatchObject([
      { host: "devstack1", status: "INACTIVE", vif_type: "unbound" },
      { host: "devstack2", status: "ACTIVE" },
    ]);
    await harness.get("DELETE", `${path}/devstack1`, undefined, "service");
    expect(await harness.list(path, "service")).toEqual([onHost("devstack2", "ACTIVE")]);
  });

  test("change with an update, which clears a profile that it leaves out", async () => {
    const { harness, path, bind } = await startBound();
    await bind("devstack2", { profile: { a: "b" } });
    const update = (binding: object) => harness.get("PUT", `${path}/devstack2`, { binding }, "service");
    expect(await update({ profile: { c: "d" } })).toMatchObject({ profile: { c: "d" }, status: "INACTIVE" });
    expect(await update({ host: "devstack3" })).toEqual(onHost("devstack3", "INACTIVE"));
  });

  test("are unbound if the active one is deleted", async () => {
    const { harness, port, path } = await startBound();
    await harness.get("DELETE", `${path}/devstack1`, undefined, "service");
    const show = () => harness.get("GET", `/ports/${port.id}`, undefined, "admin");
    expect(await show()).toMatchObject({ "binding:host_id": "", "binding:vif_type": "unbound" });
    await harness.get("POST", path, { binding: { host: "devstack3" } }, "service");
    expect(await show()).toMatchObject({ "binding:host_id": "devstack3", "binding:vif_type": "ovs" });
  });

  const DUPLICATE = "409 PortBindingAlreadyExists: Binding for port ID on host devstack1 already exists.";
  const MISSING = "404 PortBindingNotFound: Binding for port ID for host nohost could not be found.";
  const HIDDEN = "404 HTTPNotFound: The resource could not be found.";

  test.each<[string, Caller, string, string, object | undefined, string]>([
    ["a second one on a host", "service", "POST", "", { host: "devstack1" }, DUPLICATE],
    [
      "one on a host without an agent",
      "service",
      "POST",
      "",
      { host: "nohost" },
      "500 PortBindingError: Binding for port ID on host nohost could not be created or updated.",
    ],
    [
      "one without a host",
      "service",
      "POST",
      "",
      {},
      "400 HTTPBadRequest: Failed to parse request. Required attribute 'host' not specified",
    ],
    [
      "one by an administrator",
      "admin",
      "POST",
      "",
      { host: "devstack3" },
      "403 PolicyNotAuthorized: rule:create_port_binding is disallowed by policy",
    ],
    [
      "the activation of the active one",
      "service",
      "PUT",
      "/devstack1/activate",
      undefined,
      "409 PortBindingAlreadyActive: Binding for port ID on host devstack1 is already active.",
    ],
    ["the activation of a missing one", "service", "PUT", "/nohost/activate", undefined, MISSING],
    ["the deletion of a missing one", "service", "DELETE", "/nohost", undefined, MISSING],
    ["the view of a missing one", "service", "GET", "/nohost", undefined, MISSING],
    ["the view of a member", "demo", "GET", "/devstack1", undefined, HIDDEN],
    ["the deletion by a member", "demo", "DELETE", "/devstack1", undefined, HIDDEN],
    ["the list of another project", "alt", "GET", "", undefined, "404 PortNotFound: Port ID could not be found."],
  ])("reject %s", async (_what, caller, method, suffix, binding, rejection) => {
    const { harness, port, path } = await startBound();
    const found = await harness.rejection(method, `${path}${suffix}`, binding && { binding }, caller);
    expect(found).toBe(rejection.replace("ID", String(port.id)));
    expect(await harness.list(path, "service")).toEqual([onHost("devstack1", "ACTIVE")]);
  });

  test("exist for ports of servers only", async () => {
    const { harness, network } = await startBound();
    const { id } = await createPort(harness, network);
    const only = `400 BadRequest: Bad port request: Invalid port ${id}. Operation only valid on compute ports.`;
    const path = `/ports/${id}/bindings`;
    expect(await harness.rejection("POST", path, { binding: { host: "devstack3" } }, "service")).toBe(only);
    expect(await harness.rejection("GET", path, undefined, "service")).toBe(only);
  });
});
