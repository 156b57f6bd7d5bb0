import { describe, expect, it, test } from "vitest";
import { SnapshotIndex } from "../../../../src/audit/checks/inputs.js";
import { findingsOf, found, inventory, NEED, node, type Parts, provider, server, snapshotOf } from "./a-snapshot.js";

const at = (uuid: string) => ({ uuid, name: `node-${uuid}` });
const SETTLE =
  "find out which of the two is the host (compute_id in its state_path, my_ip), and fix or delete the other by hand";

describe("provider-without-node", () => {
  const gone = (more: Parts = {}, own: Parameters<typeof provider>[1] = {}) =>
    findingsOf({ providers: [provider("one"), provider("two"), provider("gone", own)], ...more });

  it("deletes a tree without a compute node, leaves first", () => {
    const child = (uuid: string, parent: string) =>
      provider(uuid, { name: uuid, parent, root: "gone", inventories: {} });
    const providers = [
      provider("one"),
      provider("two"),
      provider("gone"),
      child("pf2", "gone"),
      child("pf1", "gone"),
      child("vf", "pf1"),
    ];
    expect(findingsOf({ providers })).toEqual([
      {
        code: "provider-without-node",
        subject: { kind: "provider", ...at("gone") },
        provider: null,
        explanation: "no compute node has uuid gone or the name node-gone; consumers: 0",
        remedies: ["vf", "pf1", "pf2", "gone"].map((uuid) => ({ kind: "delete-provider", uuid })),
        left: null,
      },
    ]);
  });

  test.each<[string, Parts, Parameters<typeof provider>[1], RegExp]>([
    [
      "its host has a service",
      { services: [{ host: "node-gone", up: false }] },
      {},
      /^host node-gone has a compute service: its agent recreates the compute node; start it, or delete the service$/,
    ],
    [
      "servers are recorded to be there",
      { servers: [server("vm", "gone"), server("vm2", "x", { host: "node-gone" })] },
      {},
      /^2 servers are recorded to be on node-gone; move or delete them first$/,
    ],
  ])("%s: it is left", (_what, parts, own, left) => {
    expect(gone(parts, own)).toMatchObject([{ remedies: [], left: expect.stringMatching(left) }]);
  });

  test.each<[string, Parameters<typeof provider>[1], boolean]>([
    ["that offers CPUs", { inventories: { VCPU: inventory(1) } }, true],
    ["that offers dedicated CPUs", { inventories: { PCPU: inventory(1) } }, true],
    ["that offers memory", { inventories: { MEMORY_MB: inventory(1) } }, true],
    ["that offers disk only", { inventories: { DISK_GB: inventory(1) } }, false],
    ["that Nova made", { inventories: {}, isNovas: true }, true],
    ["that shares", { sharedWith: new Set() }, false],
    ["with a node's name", { name: "node-one" }, false],
    ["below another one", { parent: "one" }, false],
  ])("one %s: %s", (_what, own, expected) => {
    const codes = gone({ nodes: [node("one"), node("two")] }, own).map(({ code }) => code);
    expect(codes.includes("provider-without-node")).toBe(expected);
  });
});

test("treats sharing providers and providers below them as shared, without a host", () => {
  const pool = provider("pool", { inventories: {}, sharedWith: new Set(["one"]) });
  const disk = provider("disk", { parent: "pool", inventories: { VCPU: inventory(1) } });
  const nodelessProvider = provider("shelf", { inventories: { VCPU: inventory(1) } });
  const shared = provider("drive", { parent: "shelf", inventories: {}, sharedWith: new Set(["one"]) });
  const index = new SnapshotIndex(snapshotOf({ providers: [provider("one"), pool, disk, nodelessProvider, shared] }));
  expect(["disk", "drive", "shelf", "one"].map((uuid) => index.kindOf(uuid))).toEqual([
    "sharing",
    "sharing",
    "nodeless",
    "compute",
  ]);
});

describe("node-without-provider", () => {
  test.each([
    [true, "up"],
    [false, "down"],
  ])("service up %s: a provider is made, which the agent fills", (serviceUp, state) => {
    expect(findingsOf({ nodes: [node("one", { serviceUp }), node("two")], providers: [provider("two")] })).toEqual([
      {
        code: "node-without-provider",
        subject: { kind: "node", ...at("one") },
        provider: null,
        explanation: `compute node node-one of host host-one has no resource provider; its agent (${state}) fills in the inventory of a new one with its next pass`,
        remedies: [{ kind: "create-provider", ...at("one") }],
        left: null,
      },
    ]);
  });
});

describe("identity-clash", () => {
  it("renames a provider to its node's name unless that name is taken", () => {
    const clash = {
      code: "identity-clash",
      subject: { kind: "node", ...at("one") },
      provider: null,
      explanation: "compute node node-one of host host-one has a provider that is named renamed",
    };
    const renamed = provider("one", { name: "renamed" });
    expect(findingsOf({ providers: [renamed, provider("two")] })).toEqual([
      { ...clash, remedies: [{ kind: "rename-provider", uuid: "one", name: "node-one" }], left: null },
    ]);
    const thief = provider("thief", { name: "node-one", inventories: {} });
    expect(findingsOf({ providers: [renamed, provider("two"), thief] })).toEqual([
      { ...clash, remedies: [], left: `the name belongs to provider thief; ${SETTLE}` },
    ]);
  });

  describe("a provider with the node's name and another uuid", () => {
    const mistaken = (more: Parts = {}) =>
      findingsOf({ providers: [provider("old", { name: "node-one" }), provider("two")], ...more });

    it("is replaced if it is unused and has no children", () => {
      expect(mistaken()).toEqual([
        {
          code: "identity-clash",
          subject: { kind: "node", ...at("one") },
          provider: { uuid: "old", name: "node-one" },
          explanation:
            "compute node node-one of host host-one has uuid one but no provider, because provider old has its name",
          remedies: [
            { kind: "delete-provider", uuid: "old" },
            { kind: "create-provider", ...at("one") },
          ],
          left: null,
        },
      ]);
    });

    it("is only reported if it is used, has children or belongs to another node", () => {
      const child = provider("child", { name: "child", parent: "old", root: "old", inventories: {} });
      const used = mistaken({ held: { x: { old: NEED } }, knowsMigrationConsumers: false });
      expect(used).toMatchObject([
        { code: "identity-clash", remedies: [], left: `provider old is in use (1 consumers); ${SETTLE}` },
      ]);
      const below = [provider("old", { name: "node-one" }), provider("two"), child];
      expect(mistaken({ providers: below })).toMatchObject([{ code: "identity-clash", remedies: [] }]);
      expect(mistaken({ providers: below, held: { x: { child: NEED } } })[0]?.left).toContain("(1 consumers)");
      const nodes = [node("one"), node("two"), node("old", { name: "node-old" })];
      const clashes = mistaken({ nodes }).filter(({ subject }) => subject.uuid === "one");
      expect(clashes).toMatchObject([{ remedies: [] }]);
    });
  });

  it("reports two hosts with nodes of one name", () => {
    const nodes = [node("one"), node("three", { name: "node-one" }), node("two")];
    const providers = [provider("one"), provider("two"), provider("three", { name: "node-three" })];
    expect(findingsOf({ nodes, providers }).filter(({ subject }) => subject.kind === "provider")).toEqual([
      {
        code: "identity-clash",
        subject: { kind: "provider", ...at("one") },
        provider: at("three"),
        explanation: "hosts host-one and host-three both have a compute node named node-one",
        remedies: [],
        left: SETTLE,
      },
    ]);
  });
});

describe("overcommitted-inventory", () => {
  const HELD = { vm: { one: NEED }, vm2: { one: NEED } };
  const SERVERS = [server("vm", "one"), server("vm2", "one")];
  const full = (VCPU: ReturnType<typeof inventory>, more: Parts = {}) => {
    const one = provider("one", { inventories: { ...provider("one").inventories, VCPU } });
    return findingsOf({ servers: SERVERS, held: HELD, providers: [one, provider("two")], ...more });
  };

  it("reports usage above the capacity, with the difference", () => {
    expect(full(inventory(1))).toEqual([
      {
        code: "overcommitted-inventory",
        subject: { kind: "provider", ...at("one") },
        provider: null,
        explanation: "more is allocated than the provider's capacity: 2 VCPU of 1",
        remedies: [],
        left: "move servers away, or raise the allocation ratio or lower the reserved amounts in the host's nova.conf",
      },
    ]);
  });

  test.each([
    [inventory(2), 0],
    [inventory(3, { reserved: 1 }), 0],
    [inventory(3, { reserved: 2 }), 1],
    [inventory(1, { allocation_ratio: 2 }), 0],
    [inventory(3, { reserved: 1, allocation_ratio: 0.9 }), 1],
  ])("capacity as Placement counts it: %j", (VCPU, expected) => {
    expect(full(VCPU)).toHaveLength(expected);
  });

  it("reports a stale inventory instead if the compute node's totals are sufficient", () => {
    const nodes = (VCPU: number) => [node("one", { totals: { VCPU } }), node("two")];
    expect(full(inventory(2), { nodes: nodes(1) }).map(({ code }) => code)).toEqual(["stale-inventory"]);
    expect(full(inventory(1), { nodes: nodes(4) }).map(({ code }) => code)).toEqual(["stale-inventory"]);
    expect(full(inventory(0), { nodes: nodes(1) }).map(({ code }) => code)).toEqual([
      "overcommitted-inventory",
      "stale-inventory",
    ]);
  });

  it("accepts that Ironic reserves a node with a server", () => {
    const nodes = (type: string) => [node("one", { type }), node("two")];
    const VCPU = inventory(2, { reserved: 2 });
    expect(full(VCPU, { nodes: nodes("ironic") })).toEqual([]);
    expect(full(VCPU, { nodes: nodes("QEMU") })).toHaveLength(1);
  });
});

describe("stale-inventory", () => {
  const stale = (totals: Readonly<Record<string, number>> | null, more: Parts = {}, type = "QEMU") =>
    findingsOf({ nodes: [node("one", { totals, type }), node("two")], ...more });
  const { VCPU, MEMORY_MB, DISK_GB } = provider("one").inventories;

  it("sets totals that differ, and max_unit if it was equal to the total", () => {
    const inventories = { VCPU: inventory(8), MEMORY_MB: inventory(4096, { max_unit: 100, reserved: 5 }) };
    const providers = [provider("one", { inventories }), provider("two")];
    expect(stale({ VCPU: 16, MEMORY_MB: 8192, DISK_GB: 7 }, { providers })).toEqual([
      {
        code: "stale-inventory",
        subject: { kind: "provider", ...at("one") },
        provider: null,
        explanation:
          "the totals differ from those of compute node node-one: VCPU 8 instead of 16, MEMORY_MB 4096 instead of 8192",
        remedies: [
          {
            kind: "set-inventories",
            uuid: "one",
            inventories: {
              VCPU: { ...inventory(16), max_unit: 16 },
              MEMORY_MB: inventory(8192, { max_unit: 100, reserved: 5 }),
            },
          },
        ],
        left: null,
      },
    ]);
  });

  it("counts dedicated CPUs as CPUs of the node", () => {
    const inventories = { VCPU: inventory(6), PCPU: inventory(2) };
    const providers = [provider("one", { inventories }), provider("two")];
    expect(stale({ VCPU: 8 }, { providers })).toEqual([]);
    expect(stale({ VCPU: 9 }, { providers })).toMatchObject([
      { remedies: [{ inventories: { VCPU: { total: 7 }, PCPU: { total: 2 } } }] },
    ]);
    expect(stale({ VCPU: 2 }, { providers })).toEqual([]);
  });

  it("only reports totals below the usage", () => {
    const held = { vm: { one: { ...NEED, VCPU: 3 } } };
    const flavor = { ...server("vm", "one").flavor, vcpus: 3 };
    const servers = [server("vm", "one", { flavor })];
    expect(stale({ VCPU: 2 }, { held, servers })).toMatchObject([
      {
        remedies: [],
        left: "with the compute node's totals VCPU would be over-committed; move servers away first",
      },
    ]);
    expect(stale({ VCPU: 3 }, { held, servers })).toMatchObject([{ left: null }]);
  });

  test.each<[string, Readonly<Record<string, number>> | null, string]>([
    ["equal ones", { VCPU: 8, MEMORY_MB: 4096, DISK_GB: 100 }, "QEMU"],
    ["unknown ones", null, "QEMU"],
    ["those of bare metal", { VCPU: 1 }, "ironic"],
    ["none at all", { VCPU: 0 }, "QEMU"],
  ])("%s say nothing", (_what, totals, type) => {
    expect([VCPU, MEMORY_MB, DISK_GB].map((each) => each?.total)).toEqual([8, 4096, 100]);
    expect(stale(totals, {}, type)).toEqual([]);
  });

  it("reports no stale inventory of a node without a provider", () => {
    expect(found({ nodes: [node("one", { totals: { VCPU: 1 } }), node("two")], providers: [provider("two")] })).toEqual(
      ["node-without-provider one"],
    );
  });
});

it("sorts findings by code, then by subject", () => {
  const servers = ["b", "a"].map((id) => server(id, "one"));
  expect(found({ servers, held: { x: { two: NEED } } })).toEqual([
    "orphaned-consumer x",
    "missing-allocation a",
    "missing-allocation b",
  ]);
});
