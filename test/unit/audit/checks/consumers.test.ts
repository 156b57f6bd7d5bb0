import { describe, expect, it, test } from "vitest";
import { findingsOf, found, inventory, migration, NEED, node, type Parts, provider, server } from "./a-snapshot.js";

const NFS = provider("nfs", { name: "nfs", inventories: { DISK_GB: inventory(9) }, sharedWith: new Set(["one"]) });
const subject = { kind: "server", uuid: "vm", name: "name-vm" };
const at = (uuid: string) => ({ uuid, name: `node-${uuid}` });
function specs(extraSpecs: Readonly<Record<string, string>>) {
  return {
    flavor: { ...server("vm", "one").flavor, vcpus: 2, extraSpecs },
  };
}

describe("wrong-amounts", () => {
  const holding = (own: Readonly<Record<string, number>>, more: Parts = {}) =>
    findingsOf({ servers: [server("vm", "one")], held: { vm: { one: own } }, ...more });

  it("sets each class that differs from the flavor", () => {
    expect(holding({ VCPU: 2, MEMORY_MB: 512 })).toEqual([
      {
        code: "wrong-amounts",
        subject,
        provider: at("one"),
        explanation:
          "the server's allocations on node-one differ from its flavor: VCPU 2 instead of 1, DISK_GB 0 instead of 1",
        remedies: [
          { kind: "hold", consumer: "vm", provider: "one", amounts: { VCPU: 1 } },
          { kind: "hold", consumer: "vm", provider: "one", amounts: { DISK_GB: 1 } },
        ],
        left: null,
      },
    ]);
  });

  it("ignores classes that ports and devices request", () => {
    expect(holding({ ...NEED, NET_BW_EGR_KILOBIT_PER_SEC: 5, VGPU: 1 })).toEqual([]);
  });

  test.each<[string, Readonly<Record<string, string>>, Readonly<Record<string, number>>, readonly string[]]>([
    ["mixed CPUs count together", { "hw:cpu_policy": "mixed" }, { VCPU: 1, PCPU: 1 }, []],
    ["and too many of them", { "hw:cpu_policy": "mixed" }, { VCPU: 1, PCPU: 2 }, ["CPUs 3 instead of 2"]],
    ["an image may ask for dedicated ones", {}, { PCPU: 2 }, []],
    ["but not for more", {}, { PCPU: 3 }, ["CPUs 3 instead of 2"]],
    ["a spare one for emulator threads", { "hw:emulator_threads_policy": "isolate" }, { PCPU: 3 }, []],
    ["only one", { "hw:emulator_threads_policy": "isolate" }, { VCPU: 4 }, ["CPUs 4 instead of 2"]],
    ["and not less", { "hw:emulator_threads_policy": "isolate" }, { VCPU: 1 }, ["CPUs 1 instead of 2"]],
    ["dedicated ones by the flavor", { "hw:cpu_policy": "dedicated" }, { PCPU: 2 }, []],
    ["of the flavor's class", { "hw:cpu_policy": "dedicated" }, { PCPU: 1 }, ["PCPU 1 instead of 2"]],
  ])("%s", (_what, extraSpecs, cpus, mismatches) => {
    const servers = [server("vm", "one", specs(extraSpecs))];
    const findings = holding({ ...cpus, MEMORY_MB: 512, DISK_GB: 1 }, { servers });
    expect(findings.map(({ explanation }) => explanation)).toEqual(
      mismatches.map((text) => `the server's allocations on node-one differ from its flavor: ${text}`),
    );
    for (const { remedies, left } of findings) {
      const unknown = "the correct provider cannot be determined; set its allocations by hand";
      expect([remedies.length, left]).toEqual(mismatches[0]?.startsWith("CPUs") ? [0, unknown] : [1, null]);
    }
  });

  it("recognizes a single dedicated CPU by its class", () => {
    const flavor = { ...server("vm", "one").flavor, extraSpecs: { "hw:cpu_policy": "dedicated" } };
    const servers = [server("vm", "one", { flavor })];
    expect(holding({ PCPU: 1, MEMORY_MB: 512, DISK_GB: 1 }, { servers })).toEqual([]);
    const [finding] = holding({ PCPU: 2, MEMORY_MB: 512, DISK_GB: 1 }, { servers });
    expect(finding?.explanation).toContain("PCPU 2 instead of 1");
  });

  it("counts and sets allocations of a sharing provider", () => {
    const providers = [provider("one"), provider("two"), NFS];
    const held = { vm: { one: { VCPU: 1, MEMORY_MB: 512 }, nfs: { DISK_GB: 2 } } };
    expect(findingsOf({ servers: [server("vm", "one")], providers, held })).toMatchObject([
      { remedies: [{ provider: "nfs", amounts: { DISK_GB: 1 } }], left: null },
    ]);
  });

  it("only reports amounts on two providers", () => {
    const providers = [provider("one"), provider("two"), NFS];
    const held = { vm: { one: NEED, nfs: { DISK_GB: 2 } } };
    expect(findingsOf({ servers: [server("vm", "one")], providers, held })).toMatchObject([
      { remedies: [], left: "the correct provider cannot be determined; set its allocations by hand" },
    ]);
  });

  test.each<[string, Parts["migrations"], Parts["held"], number]>([
    ["one host, the Pike way: two flavors in one sum", [migration("vm", "finished")], {}, 0],
    ["one host, below 2.59", [migration("vm", "finished", { uuid: null })], {}, 0],
    ["one host, the old flavor apart", [migration("vm", "finished")], { move: { one: NEED } }, 1],
    ["from another host", [migration("vm", "finished", { sourceHost: "host-two", sourceNode: "node-two" })], {}, 1],
  ])("of a resize that waits, on %s", (_what, migrations = [], more = {}, expected) => {
    const servers = [server("vm", "one", { vmState: "resized" })];
    const held = { vm: { one: { ...NEED, VCPU: 3 } }, ...more };
    expect(found({ servers, migrations, held }).filter((code) => code.startsWith("wrong-amounts"))).toHaveLength(
      expected,
    );
  });
});

describe("wrong-owner", () => {
  const owned = (record: NonNullable<Parts["records"]>[number], more: Parts = {}) =>
    findingsOf({
      servers: [server("vm", "one")],
      held: { vm: { one: NEED } },
      records: [{ uuid: "vm", ...record }],
      ...more,
    });

  test.each([
    [{ projectId: "other" }, "its allocations belong to project other instead of project"],
    [{ userId: "other" }, "its allocations belong to user other instead of user"],
    [
      { projectId: null, userId: "other" },
      "its allocations belong to project null instead of project and user other instead of user",
    ],
  ])("%j", (record, explanation) => {
    expect(owned(record)).toEqual([
      {
        code: "wrong-owner",
        subject,
        provider: null,
        explanation,
        remedies: [{ kind: "own", consumer: "vm", projectId: "project", userId: "user" }],
        left: null,
      },
    ]);
  });

  it("checks the owner of a migration's allocations", () => {
    const migrations = [migration("vm", "error")];
    const held = { vm: { one: NEED }, move: { two: NEED } };
    const records = [{ uuid: "move", userId: "other" }];
    expect(owned({}, { migrations, held, records })[0]).toMatchObject({
      code: "wrong-owner",
      subject: { kind: "migration", uuid: "move", name: "migration 7" },
    });
  });

  it("reports nothing if the owner is unknown, the consumer is gone or the server has a task", () => {
    const record = { projectId: "other" };
    const one = (more: Parameters<typeof server>[2]) => ({ servers: [server("vm", "one", more)] });
    expect(owned({ ...record, uuid: "stranger" })).toEqual([]);
    expect(owned({ ...record, generation: null })).toEqual([]);
    expect(owned(record, one({ userId: null }))).toEqual([]);
    expect(owned(record, one({ taskState: "rebooting" }))).toEqual([]);
    expect(owned({})).toEqual([]);
  });
});

describe("consumers that Nova does not know", () => {
  const unknown = (more: Parts = {}, maxShare = 1) => findingsOf({ held: { x: { one: NEED } }, ...more }, maxShare);
  const consumer = { kind: "consumer", uuid: "x", name: "" };
  const holds = "has VCPU 1, MEMORY_MB 512, DISK_GB 1 allocated on node-one";

  it("orphaned-consumer: removes the allocations of a consumer that is neither server nor migration", () => {
    expect(unknown()).toEqual([
      {
        code: "orphaned-consumer",
        subject: consumer,
        provider: at("one"),
        explanation: `no server and no migration has this uuid; it ${holds}`,
        remedies: [{ kind: "clear", consumer: "x" }],
        left: null,
      },
    ]);
  });

  it("lists the sum and the nodes of allocations on several nodes", () => {
    const [finding] = unknown({ held: { x: { one: NEED, two: { VCPU: 2 } } } });
    expect(finding?.explanation).toContain("it has VCPU 3, MEMORY_MB 512, DISK_GB 1 allocated on node-one, node-two");
  });

  const metal = (type: string, inventories = { CUSTOM_METAL: inventory(1) }): Parts => ({
    nodes: [node("one", { type }), node("two")],
    providers: [provider("one", { inventories }), provider("two")],
    held: { x: { one: { CUSTOM_METAL: 1 } } },
  });

  it("baremetal-leftover: reports a node that stays allocated", () => {
    const explanation =
      "no server has this uuid; it has CUSTOM_METAL 1 allocated on node-one, which blocks the bare metal node";
    for (const type of ["ironic", "QEMU"]) {
      expect(unknown(metal(type))).toMatchObject([
        { code: "baremetal-leftover", explanation, remedies: [{ kind: "clear", consumer: "x" }] },
      ]);
    }
    const both = { CUSTOM_METAL: inventory(1), VCPU: inventory(8) };
    expect(unknown(metal("ironic", both))).toMatchObject([{ code: "baremetal-leftover" }]);
    expect(unknown(metal("QEMU", both))).toMatchObject([
      {
        code: "unknown-consumer",
        left: "it has only custom resources, and not of a bare metal node: they may belong to another service",
      },
    ]);
  });

  test.each<[string, Parts]>([
    ["a server", { servers: [server("x", "one")] }],
    ["a migration", { migrations: [migration("x", "finished", { uuid: "x" })] }],
    ["of another service's type", { records: [{ uuid: "x", type: "CONTAINER" }] }],
    ["on a provider that is not Nova's", { held: { x: { foreign: NEED } } }],
    ["of classes that servers do not use", { held: { x: { one: { IPV4_ADDRESS: 1 } } } }],
    ["of classes that servers and others use", { held: { x: { one: { IPV4_ADDRESS: 1, CUSTOM_X: 1 } } } }],
  ])("%s is none", (_what, parts) => {
    const foreign = provider("foreign", { inventories: { DISK_GB: inventory(5) } });
    const providers = [provider("one"), provider("two"), foreign];
    expect(
      found({ held: { x: { one: NEED } }, providers, ...parts }).filter(
        (code) => code.endsWith(" x") && !code.startsWith("wrong"),
      ),
    ).toEqual([]);
  });

  test.each([undefined, null, "unknown", "INSTANCE", "MIGRATION"])("type %s may belong to Nova", (type) => {
    const records = type === undefined ? [] : [{ uuid: "x", type }];
    expect(unknown({ records }).map(({ code }) => code)).toEqual(["orphaned-consumer"]);
  });

  test.each<[string, Parts, string]>([
    [
      "below 2.59",
      { knowsMigrationConsumers: false },
      "this Compute API (below 2.59) does not return the uuids of migrations",
    ],
    [
      "a deaf cell",
      { servers: [server("vm", null, { status: "UNKNOWN" })] },
      "a cell is not responding, so its migrations are unknown; run the audit again when it responds",
    ],
    [
      "something on a provider without a node",
      { held: { x: { one: NEED, gone: NEED } }, providers: [provider("one"), provider("two"), provider("gone")] },
      "it also has allocations on node-gone, which has no compute node",
    ],
    [
      "a renamed provider",
      { providers: [provider("one", { name: "renamed" }), provider("two")] },
      "the identity of the compute node is in doubt",
    ],
  ])("unknown-consumer: %s leaves a doubt", (_what, parts, left) => {
    const finding = unknown(parts).find(({ code }) => code === "unknown-consumer");
    expect(finding).toMatchObject({ subject: consumer, remedies: [], left });
    expect(finding?.explanation).toMatch(/^no known server or migration has this uuid; it has VCPU/);
  });

  it("reports the other of two nodes with one name", () => {
    const nodes = [node("one"), node("three", { name: "node-one" }), node("two")];
    const providers = [provider("one"), provider("two"), provider("three")];
    const finding = unknown({ nodes, providers, held: { x: { three: NEED } } }).find(
      ({ subject }) => subject.uuid === "x",
    );
    expect(finding?.left).toBe("the identity of the compute node is in doubt");
  });

  it("reports no leftover on a sharing provider", () => {
    const providers = [provider("one"), provider("two"), NFS];
    expect(found({ held: { x: { one: NEED, nfs: { DISK_GB: 1 } } }, providers })).toEqual(["orphaned-consumer x"]);
  });

  describe("many unknown consumers suggest a database restored from an old copy", () => {
    const advice = "more than --max-share 0.5: was the database restored from an old copy? If not, raise it";
    const many = (onOne: number, servers: number, onTwo = 0) => ({
      held: Object.fromEntries([
        ...Array.from({ length: onOne }, (_, index) => [`x${index}`, { one: NEED }]),
        ...Array.from({ length: onTwo }, (_, index) => [`y${index}`, { two: NEED }]),
        ...Array.from({ length: servers }, (_, index) => [`vm${index}`, { two: NEED }]),
      ]),
      servers: Array.from({ length: servers }, (_, index) => server(`vm${index}`, "two")),
    });
    const reasons = (parts: Parts) => findingsOf(parts, 0.5).map(({ code, left }) => [code, left]);

    it("a single one does not", () => {
      expect(reasons(many(1, 0))).toEqual([["orphaned-consumer", null]]);
    });

    it("counted over all consumers", () => {
      const left = `67% of all consumers are unknown, ${advice}`;
      expect(reasons(many(2, 1))).toEqual([
        ["unknown-consumer", left],
        ["unknown-consumer", left],
      ]);
    });

    it("counted for one provider, without an effect on others", () => {
      const left = `100% of the provider's consumers are unknown, ${advice}`;
      expect(reasons(many(2, 3, 1))).toEqual([
        ["orphaned-consumer", null],
        ["unknown-consumer", left],
        ["unknown-consumer", left],
      ]);
    });

    it("exactly the allowed share does not", () => {
      expect(reasons(many(0, 2, 2))).toEqual([
        ["orphaned-consumer", null],
        ["orphaned-consumer", null],
      ]);
    });
  });
});
