import { expect, it, test } from "vitest";
import type { Port } from "../../../../src/audit/read/records.js";
import { findingsOf, found, migration, NEED, NOW, node, type Parts, provider, server } from "./a-snapshot.js";

/** A port of the server `vm`, bound to host-one. */
function port(more: Partial<Port> = {}): Port {
  return {
    id: "port",
    name: "eth0",
    device_id: "vm",
    device_owner: "compute:nova",
    host: "host-one",
    allocated: {},
    inactive: [],
    ...more,
  };
}

const BINDING = { host: "host-two", vnic_type: "normal", profile: {} };
const SUBJECT = { kind: "port", uuid: "port", name: "eth0" };
const VM: Parts = { servers: [server("vm", "one")], held: { vm: { one: NEED } } };

it("reports a port of a server that does not exist, and removes its server and its host", () => {
  expect(findingsOf({ ports: [port()] })).toEqual([
    {
      code: "dangling-port",
      subject: SUBJECT,
      provider: null,
      explanation: "the port belongs to server vm (compute:nova), which does not exist; it is bound to host host-one",
      remedies: [{ kind: "set-port", port: "port", device_id: "", device_owner: "", host: "" }],
      left: null,
    },
  ]);
});

it("leaves ports of missing servers alone if they are more than --max-share", () => {
  const ports = [port(), port({ id: "second" })];
  expect(findingsOf({ ports }, 0.5).map(({ code, remedies, left }) => [code, remedies.length, left])).toEqual(
    ports.map(() => ["dangling-port", 0, "2 of 2 ports are of servers that do not exist: more than --max-share"]),
  );
});

it("reports a port that is bound to another host than its server's, and binds it to that", () => {
  expect(findingsOf({ ...VM, ports: [port({ host: "host-two" })] })).toEqual([
    {
      code: "misbound-port",
      subject: SUBJECT,
      provider: null,
      explanation: "the port is bound to host host-two, and its server name-vm is on host host-one",
      remedies: [{ kind: "set-port", port: "port", device_id: "vm", device_owner: "compute:nova", host: "host-one" }],
      left: null,
    },
  ]);
});

it("reports an inactive binding of a server that is not migrating, and deletes it", () => {
  expect(findingsOf({ ...VM, ports: [port({ inactive: [BINDING] })] })).toMatchObject([
    {
      code: "leftover-binding",
      subject: SUBJECT,
      explanation: "the port has an inactive binding on host host-two, and its server name-vm is not migrating",
      remedies: [{ kind: "delete-binding", port: "port", binding: BINDING }],
    },
  ]);
});

const offloaded = { vmState: "shelved_offloaded", status: "SHELVED_OFFLOADED" };
const moving = migration("vm", "running", { type: "live-migration", changedAt: NOW });

test.each<[string, Parts, readonly string[]]>([
  ["a port on its server's host", { ...VM, ports: [port()] }, []],
  ["a port that is not bound", { ...VM, ports: [port({ host: "" })] }, ["misbound-port port"]],
  [
    "a bound port of a server without a host",
    { servers: [server("vm", null, offloaded)], ports: [port()] },
    ["misbound-port port"],
  ],
  [
    "an unbound port of a server without a host",
    { servers: [server("vm", null, offloaded)], ports: [port({ host: "" })] },
    [],
  ],
  [
    "a port of a server that is migrating",
    { ...VM, migrations: [moving], ports: [port({ host: "host-two", inactive: [BINDING] })] },
    [],
  ],
  ["a port of a bare-metal node", { ...VM, nodes: [node("one", { type: "ironic" })], ports: [port({ host: "" })] }, []],
  ["a cloud without a Network service", VM, []],
])("%s", (_, parts, expected) => {
  expect(found(parts).filter((each) => each.includes("port"))).toEqual(expected);
});

const BRIDGE = provider("bridge", { name: "bridge", parent: "one", root: "one", inventories: {} });
const BANDWIDTH = { NET_BW_EGR_KILOBIT_PER_SEC: 1000 };
const WITH_BANDWIDTH: Parts = {
  servers: [server("vm", "one")],
  providers: [provider("one"), provider("two"), BRIDGE],
  ports: [port({ allocated: { bridge: BANDWIDTH } }), port({ id: "second", allocated: { bridge: BANDWIDTH } })],
};
const HOLD_BANDWIDTH = {
  kind: "hold",
  consumer: "vm",
  provider: "bridge",
  amounts: { NET_BW_EGR_KILOBIT_PER_SEC: 2000 },
};

it("writes lost allocations of a server together with those of its ports", () => {
  expect(findingsOf(WITH_BANDWIDTH)).toMatchObject([
    {
      code: "missing-allocation",
      remedies: [{ kind: "own" }, { kind: "hold", provider: "one", amounts: NEED }, HOLD_BANDWIDTH],
    },
  ]);
});

it("reports a server whose allocations lack resources of its ports", () => {
  expect(findingsOf({ ...WITH_BANDWIDTH, held: { vm: { one: NEED, bridge: BANDWIDTH } } })).toMatchObject([
    {
      code: "wrong-amounts",
      explanation:
        "the server's allocations on node-one differ from its flavor and ports: less than " +
        "NET_BW_EGR_KILOBIT_PER_SEC 2000 on bridge",
      remedies: [HOLD_BANDWIDTH],
    },
  ]);
});

it("reports nothing of resources that a deleted port has left to its server", () => {
  const held = { vm: { one: NEED, bridge: { NET_BW_EGR_KILOBIT_PER_SEC: 3000 } } };
  expect(findingsOf({ ...WITH_BANDWIDTH, held })).toEqual([]);
});
