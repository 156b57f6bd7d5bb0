import { describe, expect, it, test } from "vitest";
import {
  findingsOf,
  found,
  inventory,
  migration,
  NEED,
  NOW,
  node,
  type Parts,
  provider,
  server,
} from "./a-snapshot.js";

const NFS = provider("nfs", { name: "nfs", inventories: { DISK_GB: inventory(9) }, sharedWith: new Set(["one"]) });
const GPU = provider("gpu", { name: "gpu", parent: "one", inventories: { VGPU: inventory(4) } });
const subject = { kind: "server", uuid: "vm", name: "name-vm" };
const at = (uuid: string) => ({ uuid, name: `node-${uuid}` });

describe("a server with the right allocations on its host", () => {
  test.each<[string, Parts]>([
    ["on its host", { held: { vm: { one: NEED } } }],
    ["and of what is shared with it", { held: { vm: { one: { VCPU: 1, MEMORY_MB: 512 }, nfs: { DISK_GB: 1 } } } }],
    ["and of a provider that is not Nova's", { held: { vm: { one: NEED, foreign: { CUSTOM_X: 1 } } } }],
  ])("%s: nothing is wrong", (_what, parts) => {
    const providers = [provider("one"), provider("two"), NFS, provider("foreign", { inventories: {} })];
    expect(findingsOf({ servers: [server("vm", "one")], providers, ...parts })).toEqual([]);
  });
});

describe("wrong-provider", () => {
  it("replaces allocations that are all on another provider by the server's needs on its own", () => {
    expect(findingsOf({ servers: [server("vm", "one")], held: { vm: { two: NEED } } })).toEqual([
      {
        code: "wrong-provider",
        subject,
        provider: at("two"),
        explanation: "the server is on node-one (host host-one), and all of its allocations are on node-two",
        remedies: [
          { kind: "drop", consumer: "vm", providers: ["two"] },
          { kind: "hold", consumer: "vm", provider: "one", amounts: NEED },
        ],
        left: null,
      },
    ]);
  });

  it("removes with them those in the same tree and of providers shared with that tree only", () => {
    const shared = { ...NFS, sharedWith: new Set(["two"]) };
    const child = { ...GPU, parent: "two", root: "two" };
    const providers = [provider("one"), provider("two"), shared, child];
    const held = { vm: { two: { VCPU: 1 }, gpu: { VGPU: 1 }, nfs: { DISK_GB: 1 } } };
    const [finding] = findingsOf({ servers: [server("vm", "one")], providers, held });
    expect(finding?.remedies[0]).toEqual({ kind: "drop", consumer: "vm", providers: ["two", "gpu", "nfs"] });
  });

  it("reports a server that several providers could serve, without a plan", () => {
    const disks = ["d1", "d2"].map((uuid) =>
      provider(uuid, { name: uuid, parent: "one", inventories: { DISK_GB: inventory(5) } }),
    );
    const one = provider("one", { inventories: { VCPU: inventory(8), MEMORY_MB: inventory(4096) } });
    const parts = { servers: [server("vm", "one")], providers: [one, provider("two"), ...disks] };
    expect(findingsOf({ ...parts, held: { vm: { two: NEED } } })).toMatchObject([
      {
        code: "wrong-provider",
        remedies: [],
        left: "the correct providers of node-one cannot be determined; set its allocations by hand",
      },
    ]);
  });

  it("removes the allocations of a server without a host", () => {
    const servers = [server("vm", null, { vmState: "shelved_offloaded" })];
    expect(findingsOf({ servers, held: { vm: { one: NEED, two: NEED } } })).toEqual([
      {
        code: "wrong-provider",
        subject,
        provider: at("one"),
        explanation: "the server (shelved_offloaded) has no host, but has allocations on node-one, node-two",
        remedies: ["one", "two"].map((uuid) => ({ kind: "drop", consumer: "vm", providers: [uuid] })),
        left: null,
      },
    ]);
    expect(found({ servers })).toEqual([]);
    const builds = [server("vm", null, { vmState: "building" })];
    expect(found({ servers: builds, held: { vm: { one: NEED } } })).toEqual([]);
  });

  it("leaves a build that failed before it had a host the allocations of its claim", () => {
    const servers = [server("vm", null, { vmState: "error" })];
    expect(found({ servers, held: { vm: { one: NEED } } })).toEqual([]);
    expect(found({ servers, held: { vm: { one: NEED, two: NEED } } })).not.toEqual([]);
    expect(found({ servers, held: { vm: { one: { ...NEED, VCPU: 2 } } } })).not.toEqual([]);
  });
});

describe("doubled-allocation", () => {
  const parts = { servers: [server("vm", "one")], held: { vm: { one: NEED, two: NEED } } };

  it("removes the allocations elsewhere", () => {
    expect(findingsOf(parts)).toEqual([
      {
        code: "doubled-allocation",
        subject,
        provider: at("two"),
        explanation:
          "the server is on node-one (host host-one) and has allocations there; it also has allocations on node-two, " +
          "and no migration in progress explains them",
        remedies: [{ kind: "drop", consumer: "vm", providers: ["two"] }],
        left: null,
      },
    ]);
  });

  it("reports each of several other nodes, in the order of their uuids", () => {
    const nodes = ["one", "two", "three"].map((uuid) => node(uuid));
    const providers = ["one", "two", "three"].map((uuid) => provider(uuid));
    const held = { vm: { two: NEED, three: NEED, one: NEED } };
    const findings = findingsOf({ servers: parts.servers, nodes, providers, held });
    expect(findings.map((each) => each.provider?.uuid)).toEqual(["three", "two"]);
  });

  test.each<[string, Parts, readonly string[]]>([
    ["a Pike move that waits for its confirmation", { migrations: [migration("vm", "finished")] }, []],
    ["a move that was confirmed", { migrations: [migration("vm", "confirmed")] }, ["doubled-allocation vm"]],
    [
      "an evacuation that is done",
      { migrations: [migration("vm", "done", { type: "evacuation" })] },
      ["unfinished-evacuation vm"],
    ],
    [
      "an evacuation that failed",
      { migrations: [migration("vm", "error", { type: "evacuation" })] },
      ["doubled-allocation vm"],
    ],
    [
      "an evacuation from elsewhere",
      { migrations: [migration("vm", "done", { type: "evacuation", sourceHost: "x", sourceNode: "x" })] },
      ["doubled-allocation vm"],
    ],
  ])("%s", (_what, more, expected) => {
    const vmState = more.migrations?.[0]?.status === "finished" ? "resized" : "active";
    const servers = [server("vm", "two", { vmState })];
    expect(found({ ...parts, ...more, servers })).toEqual(expected);
  });

  it("explains by an evacuation the allocations on a deleted node of that name", () => {
    const servers = [server("vm", "two")];
    const migrations = [migration("vm", "done", { type: "evacuation" })];
    const nodes = [node("two")];
    expect(found({ servers, migrations, nodes, held: parts.held })).toEqual([
      "provider-without-node one",
      "unfinished-evacuation vm",
    ]);
    const elsewhere = migrations.map((each) => ({ ...each, sourceNode: "node-x" }));
    expect(found({ servers, migrations: elsewhere, nodes, held: parts.held })).toContain("doubled-allocation vm");
  });
});

describe("missing-allocation", () => {
  const lacking = (more: Parts = {}) => findingsOf({ servers: [server("vm", "one")], ...more });

  it("creates the allocations of a server without any, with its owner", () => {
    expect(lacking()).toEqual([
      {
        code: "missing-allocation",
        subject,
        provider: at("one"),
        explanation:
          "the server is on node-one (host host-one) and has no allocations there; it needs VCPU 1, MEMORY_MB 512, DISK_GB 1",
        remedies: [
          { kind: "own", consumer: "vm", projectId: "project", userId: "user" },
          { kind: "hold", consumer: "vm", provider: "one", amounts: NEED },
        ],
        left: null,
      },
    ]);
  });

  it("prefers the root to its children where both have a class", () => {
    const providers = [provider("one"), provider("two"), provider("numa", { name: "numa", parent: "one" })];
    expect(lacking({ providers })[0]?.remedies.slice(1)).toEqual([
      { kind: "hold", consumer: "vm", provider: "one", amounts: NEED },
    ]);
  });

  it("allocates each class from the one provider that has it: the root, its tree or a sharing provider", () => {
    const { VCPU, MEMORY_MB } = provider("one").inventories;
    const one = provider("one", { inventories: { ...(VCPU ? { VCPU } : {}) } });
    const numa = provider("numa", {
      name: "numa",
      parent: "one",
      inventories: { ...(MEMORY_MB ? { MEMORY_MB } : {}) },
    });
    const [finding] = lacking({ providers: [one, provider("two"), numa, NFS] });
    expect(finding?.remedies.slice(1)).toEqual([
      { kind: "hold", consumer: "vm", provider: "one", amounts: { VCPU: 1 } },
      { kind: "hold", consumer: "vm", provider: "numa", amounts: { MEMORY_MB: 512 } },
      { kind: "hold", consumer: "vm", provider: "nfs", amounts: { DISK_GB: 1 } },
    ]);
  });

  const BY_HAND = "its correct allocations cannot be determined; set them by hand";
  const specs = (extraSpecs: Readonly<Record<string, string>>) => ({
    flavor: { ...server("vm", "one").flavor, extraSpecs },
  });

  test.each<[string, Parts]>([
    ["nobody offers it", { providers: [provider("one", { inventories: { VCPU: inventory(8) } }), provider("two")] }],
    ["its CPUs may be of two classes", { servers: [server("vm", "one", specs({ "hw:cpu_policy": "mixed" }))] }],
    ["its owner is not known", { servers: [server("vm", "one", { userId: null })] }],
  ])("where %s, it is left", (_what, more) => {
    expect(lacking(more)).toMatchObject([{ code: "missing-allocation", remedies: [], left: BY_HAND }]);
  });

  test.each<[string, Parts["servers"]]>([
    [
      "needs nothing",
      [server("vm", "one", { flavor: { ...server("", null).flavor, vcpus: 0, memoryMb: 0, rootGb: 0 } })],
    ],
    ["builds", [server("vm", "one", { vmState: "building" })]],
    ["is being moved", [server("vm", "one", { taskState: "migrating" })]],
    ["is in a cell that does not answer", [server("vm", "one", { status: "UNKNOWN" })]],
    ["is on a node that is not known", [server("vm", "three")]],
    ["is on a node of another host", [server("vm", "one", { host: "host-two" })]],
  ])("one that %s is not judged", (_what, servers = []) => {
    expect(lacking({ servers })).toEqual([]);
  });

  it("reports the node without a provider instead of its servers", () => {
    expect(found({ servers: [server("vm", "one")], providers: [provider("two")] })).toEqual([
      "node-without-provider one",
    ]);
  });

  it("reports nothing during a move and shortly after it", () => {
    expect(
      found({ servers: [server("vm", "one")], migrations: [migration("vm", "migrating", { changedAt: NOW })] }),
    ).toEqual([]);
    const ended = (changedAt: number) => [migration("vm", "reverted", { changedAt })];
    expect(lacking({ migrations: ended(NOW - 60_000) })).toEqual([]);
    expect(lacking({ migrations: ended(NOW - 60_001) })).toHaveLength(1);
  });
});

describe("missing-allocation of a move that waits for its confirmation", () => {
  const resized = [server("vm", "two", { vmState: "resized" })];
  const moves = (more: Parameters<typeof migration>[2] = {}) => [migration("vm", "finished", more)];
  const held = { vm: { two: NEED } };
  const what =
    "migration 7 of server name-vm waits for its confirmation, and has no allocations on its source node-one";

  it("creates the migration's allocations on the source again", () => {
    expect(findingsOf({ servers: resized, migrations: moves(), held })).toEqual([
      {
        code: "missing-allocation",
        subject: { kind: "migration", uuid: "move", name: "migration 7" },
        provider: at("one"),
        explanation: what,
        remedies: [
          { kind: "own", consumer: "move", projectId: "project", userId: "user" },
          { kind: "hold", consumer: "move", provider: "one", amounts: NEED },
        ],
        left: null,
      },
    ]);
  });

  it("only reports a resize, since the API does not return its old flavor", () => {
    expect(findingsOf({ servers: resized, migrations: moves({ type: "resize" }), held })).toMatchObject([
      {
        explanation: `${what.replace("migration 7", "resize 7")}; the API does not return its old flavor`,
        remedies: [],
        left: "its correct allocations cannot be determined; set them by hand",
      },
    ]);
  });

  test.each<[string, Parts]>([
    ["the migration holds it", { held: { ...held, move: { one: NEED } } }],
    ["the server itself holds it, the Pike way", { held: { vm: { one: NEED, two: NEED } } }],
    ["the source is the same host", { migrations: moves({ sourceHost: "host-two", sourceNode: "node-two" }) }],
    ["the API does not tell the migration's uuid", { migrations: moves({ uuid: null }) }],
    ["the source is gone", { migrations: moves({ sourceHost: "x", sourceNode: "x" }) }],
    ["the move is confirmed", { migrations: moves({ status: "confirmed" }) }],
  ])("%s: nothing is missing", (_what, more) => {
    expect(found({ servers: resized, migrations: moves(), held, ...more })).toEqual([]);
  });

  it("only reports a source without a provider", () => {
    const providers = [provider("two")];
    expect(found({ servers: resized, migrations: moves(), held, providers })).toEqual(["node-without-provider one"]);
  });

  it("reports the server's own allocations if it has none at all", () => {
    expect(found({ servers: resized, migrations: moves() })).toEqual(["missing-allocation vm"]);
  });
});
