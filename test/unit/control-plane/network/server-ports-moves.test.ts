import { describe, expect, test } from "vitest";
import { createServerPorts } from "../../../../src/control-plane/network/ports/server-ports.js";
import type { ServerPort } from "../../../../src/control-plane/network/server-ports.js";
import { NetworkHarness } from "./network-harness.js";
import { addHosts, attach, createNetwork, createPort, SERVER, updatePort } from "./port-fixtures.js";

/** A server with a plugged port on devstack1. */
async function startPlugged() {
  const harness = new NetworkHarness();
  addHosts(harness, "devstack1", "devstack2");
  const network = await createNetwork(harness);
  const ports = createServerPorts(harness.context);
  const server = { uuid: SERVER, projectId: "demo", host: "devstack1", availabilityZone: "nova", hostname: null };
  const [port] = attach(ports, server, [{ network }], []);
  const id = String(port?.id);
  ports.plugged(SERVER, "devstack1", [id]);
  harness.events.length = 0;
  const show = () => ports.get(id) ?? expect.fail("the port is gone");
  return { harness, network, ports, id, server, show, plug: (host: string) => ports.plugged(SERVER, host, [id]) };
}

function summarize({ status, host, pluggedOn, bindings }: ServerPort) {
  return { status, host, pluggedOn, bindings: bindings.map((binding) => `${binding.host} ${binding.status}`) };
}

const activeOn = (host: string, status = "ACTIVE") => ({
  status,
  host,
  pluggedOn: status === "ACTIVE" ? [host] : [],
  bindings: [`${host} ACTIVE`],
});

describe("plugging", () => {
  test("makes a port ACTIVE and notifies Compute once", async () => {
    const { harness, ports, id, network, server } = await startPlugged();
    const [second] = attach(ports, server, [{ network }], []);
    const ids = [id, String(second?.id)];
    expect(ports.plugged(SERVER, "devstack1", ids)).toEqual([second?.id]);
    expect(ports.plugged(SERVER, "devstack1", ids)).toEqual([]);
    expect(harness.events).toEqual([
      { name: "network-vif-plugged", serverUuid: SERVER, tag: second?.id, status: "completed", host: "devstack1" },
    ]);
    expect(await harness.list("/ports?status=ACTIVE&fields=id")).toHaveLength(2);
  });

  test("does not count on a host to which the port is not bound", async () => {
    const { harness, plug, show } = await startPlugged();
    expect(plug("devstack2")).toEqual([]);
    expect(harness.events).toEqual([]);
    expect(summarize(show())).toEqual(activeOn("devstack1"));
  });

  test("is undone when the host has unplugged the port", async () => {
    const { ports, plug, show } = await startPlugged();
    ports.unplugged(SERVER, "devstack1");
    expect(summarize(show())).toEqual(activeOn("devstack1", "DOWN"));
    expect(plug("devstack1")).toHaveLength(1);
    expect(summarize(show())).toEqual(activeOn("devstack1"));
  });
});

describe("a live migration", () => {
  test("plugs the destination before it becomes the host", async () => {
    const { harness, ports, id, plug, show } = await startPlugged();
    ports.addBinding(SERVER, "devstack2");
    expect(summarize(show())).toEqual({
      ...activeOn("devstack1"),
      bindings: ["devstack1 ACTIVE", "devstack2 INACTIVE"],
    });
    expect(plug("devstack2")).toHaveLength(1);
    expect(ports.get(id)?.pluggedOn).toEqual(["devstack1", "devstack2"]);
    expect(harness.events).toMatchObject([{ name: "network-vif-plugged", host: "devstack2" }]);
    ports.bind(SERVER, "devstack2");
    expect(summarize(show())).toEqual(activeOn("devstack2"));
  });

  test("activates the destination's bindings beside those of the source", async () => {
    const { ports, plug, show } = await startPlugged();
    ports.addBinding(SERVER, "devstack2");
    plug("devstack2");
    ports.activateBinding(SERVER, "devstack2");
    expect(summarize(show())).toEqual({
      ...activeOn("devstack2"),
      bindings: ["devstack2 ACTIVE", "devstack1 INACTIVE"],
    });
    ports.removeBinding(SERVER, "devstack1");
    ports.removeBinding(SERVER, "devstack2");
    expect(summarize(show())).toEqual(activeOn("devstack2"));
  });

  test("that fails leaves the source as it was, and the next one to the same host waits again", async () => {
    const { ports, id, plug, show } = await startPlugged();
    ports.addBinding(SERVER, "devstack2");
    plug("devstack2");
    ports.removeBinding(SERVER, "devstack2");
    expect(summarize(show())).toEqual(activeOn("devstack1"));
    ports.addBinding(SERVER, "devstack2");
    expect(ports.get(id)?.pluggedOn).toEqual(["devstack1"]);
  });

  test("that returns after the activation binds the source again", async () => {
    const { ports, id, plug } = await startPlugged();
    ports.addBinding(SERVER, "devstack2");
    ports.activateBinding(SERVER, "devstack2");
    ports.activateBinding(SERVER, "devstack1");
    expect(ports.get(id)).toMatchObject({ host: "devstack1", vifType: "ovs", status: "DOWN" });
    plug("devstack1");
    expect(ports.get(id)?.status).toBe("ACTIVE");
  });

  test("to a host without an L2 agent is rejected for all ports", async () => {
    const { ports, id, network, server } = await startPlugged();
    attach(ports, server, [{ network }], []);
    expect(() => ports.addBinding(SERVER, "nohost")).toThrow(
      `Binding for port ${id} on host nohost could not be created or updated.`,
    );
    expect(ports.ofServer(SERVER).flatMap(({ bindings }) => bindings)).toHaveLength(2);
  });
});

describe("a move of a server", () => {
  test("binds its ports to the new host, DOWN until it has plugged them", async () => {
    const { ports, plug, show } = await startPlugged();
    ports.bind(SERVER, "devstack2");
    expect(summarize(show())).toEqual(activeOn("devstack2", "DOWN"));
    plug("devstack2");
    expect(summarize(show())).toEqual(activeOn("devstack2"));
  });

  test("to the host that it is on changes nothing", async () => {
    const { harness, ports, id } = await startPlugged();
    const before = await harness.get("GET", `/ports/${id}`, undefined, "admin");
    ports.bind(SERVER, "devstack1");
    expect(await harness.get("GET", `/ports/${id}`, undefined, "admin")).toEqual(before);
  });

  test("off its host unbinds its ports, which stay attached", async () => {
    const { ports, id, show } = await startPlugged();
    ports.unbind(SERVER);
    expect(summarize(show())).toEqual({ status: "DOWN", host: null, pluggedOn: [], bindings: [] });
    expect(ports.get(id)).toMatchObject({ deviceId: SERVER, vifType: "unbound", profile: {} });
    ports.bind(SERVER, "devstack2");
    expect(summarize(show())).toEqual(activeOn("devstack2", "DOWN"));
  });

  test("causes no event, unlike a change by a user", async () => {
    const { harness, ports, id, network } = await startPlugged();
    ports.bind(SERVER, "devstack2");
    ports.unbind(SERVER);
    expect(harness.events).toEqual([]);
    await updatePort(harness, id, { fixed_ips: [{ ip_address: "10.0.0.99" }] });
    await createPort(harness, network);
    expect(harness.events).toMatchObject([{ name: "network-changed", tag: id }]);
  });
});
