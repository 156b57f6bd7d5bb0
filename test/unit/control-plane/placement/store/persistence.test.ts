import { describe, expect, it } from "vitest";
import { openDatabase } from "../../../../../src/control-plane/placement/store/database.js";
import { aggregate, consumer, uuid, World } from "../world.js";
import { FailingDatabase } from "./failing-database.js";

const READS = [
  "/resource_providers",
  "/resource_classes",
  "/traits",
  "/usages?project_id=project",
  `/allocations/${consumer(1)}`,
  `/allocations/${consumer(2)}`,
  ...[1, 2, 3].flatMap((n) =>
    ["", "/inventories", "/usages", "/aggregates", "/traits", "/allocations"].map(
      (sub) => `/resource_providers/${uuid(n)}${sub}`,
    ),
  ),
  "/allocation_candidates?resources=VCPU:1",
];

/**
 * Returns all responses to clients. Sorted, since the order of lists is undefined; without request ids, which differ.
 */
function everything(world: World): unknown[] {
  return READS.map((path) => {
    const { status, headers, body } = world.send("GET", path);
    return [path, status, headers["last-modified"], sorted(JSON.parse(body))];
  });
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map((item) => JSON.stringify(sorted(item))).sort();
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  const entries = Object.entries(value).filter(([key]) => key !== "request_id");
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, sorted(item)]));
}

function fill(world: World): void {
  world.json("PUT", "/traits/CUSTOM_FAST");
  world.json("PUT", "/resource_classes/CUSTOM_GOLD");
  world.provider(1, { VCPU: 8, CUSTOM_GOLD: 4 }, { traits: ["CUSTOM_FAST"], aggregates: [aggregate(1)] });
  world.now += 60_000;
  world.provider(2, { VCPU: 4 }, { parent: 1 });
  world.provider(3, { DISK_GB: 100 });
  world.allocate(1, null, { 1: { VCPU: 2, CUSTOM_GOLD: 1 }, 2: { VCPU: 1 } });
  world.allocate(2, null, { 1: { VCPU: 1 } });
  world.now += 60_000;
  world.allocate(1, 1, { 1: { VCPU: 3 }, 3: { DISK_GB: 10 } });
  world.json("PUT", `/resource_providers/${uuid(3)}`, { name: "renamed", parent_provider_uuid: uuid(1) });
}

describe("persistence", () => {
  it("loads what was written, and continues from there", () => {
    const database = openDatabase(":memory:");
    const before = new World({ database });
    fill(before);
    const after = new World({ database });
    after.now = before.now;
    expect(everything(after)).toEqual(everything(before));
    expect(after.allocate(3, null, { 1: { VCPU: 1 } })).toBe(204);
    after.provider(4, { VCPU: 1 });
    expect(
      new World({ database }).json<{ resource_providers: unknown[] }>("GET", "/resource_providers").resource_providers,
    ).toHaveLength(4);
  });

  it.each([
    ["all as they were", { VCPU: 8, DISK_GB: 10, MEMORY_MB: 64 }, 1, 0],
    ["one that differs", { VCPU: 8, DISK_GB: 11, MEMORY_MB: 64 }, 1, 1],
    ["all different", { VCPU: 7, DISK_GB: 11, MEMORY_MB: 65 }, 0, 1],
    ["one new, one gone", { VCPU: 8, DISK_GB: 10, PCPU: 4 }, 1, 1],
    ["one new, the others different", { VCPU: 7, DISK_GB: 11, MEMORY_MB: 65, PCPU: 4 }, 0, 1],
  ])("writes only the changed ones of requested inventories: %s", (_what, totals, touches, upserts) => {
    const database = new FailingDatabase(openDatabase(":memory:"));
    const world = new World({ database });
    world.provider(1, { VCPU: 8, DISK_GB: 10, MEMORY_MB: 64 });
    world.now += 60_000;
    database.ran.length = 0;
    const path = `/resource_providers/${uuid(1)}/inventories`;
    const inventories = Object.fromEntries(Object.entries(totals).map(([name, total]) => [name, { total }]));
    world.json("PUT", path, { resource_provider_generation: 1, inventories });
    const counted = (start: string) => database.ran.filter((sql) => sql.startsWith(start)).length;
    expect([counted("UPDATE placement_inventories"), counted("INSERT INTO placement_inventories")]).toEqual([
      touches,
      upserts,
    ]);
    const again = new World({ database });
    again.now = world.now += 60_000;
    const readProvider = (from: World) =>
      [path, ...Object.keys(totals).map((name) => `${path}/${name}`)].map((each) => {
        const { status, headers, body } = from.send("GET", each);
        return [status, headers["last-modified"], sorted(JSON.parse(body))];
      });
    expect(readProvider(again)).toEqual(readProvider(world));
    expect(readProvider(again).map(([, modified]) => modified)).toEqual(
      Array(Object.keys(totals).length + 1).fill("Sat, 21 Nov 2026 12:01:00 GMT"),
    );
  });

  it("does not load deleted records", () => {
    const database = openDatabase(":memory:");
    const world = new World({ database });
    fill(world);
    for (const path of [`/allocations/${consumer(1)}`, `/allocations/${consumer(2)}`]) {
      world.json("DELETE", path);
    }
    for (const n of [3, 2, 1]) {
      world.json("DELETE", `/resource_providers/${uuid(n)}`);
    }
    world.json("DELETE", "/traits/CUSTOM_FAST");
    world.json("DELETE", "/resource_classes/CUSTOM_GOLD");
    const again = new World({ database });
    again.now = world.now;
    expect(everything(again)).toEqual(everything(world));
    expect(again.json("GET", "/resource_providers")).toEqual({ resource_providers: [] });
  });

  it.each([
    [
      "allocations of a known consumer",
      /UPDATE placement_consumers|COMMIT/,
      (world: World) => world.allocate(1, 2, { 2: { VCPU: 1 } }),
    ],
    [
      "allocations of a new consumer",
      /INSERT INTO placement_allocations/,
      (world: World) => world.allocate(9, null, { 2: { VCPU: 1 } }),
    ],
    [
      "inventories",
      /COMMIT/,
      (world: World) => world.send("DELETE", `/resource_providers/${uuid(2)}/inventories`).status,
    ],
    [
      "a provider",
      /INSERT INTO placement_resource_providers/,
      (world: World) => world.send("POST", "/resource_providers", { name: "n", uuid: uuid(9) }).status,
    ],
    [
      "a rename",
      /COMMIT/,
      (world: World) =>
        world.send("PUT", `/resource_providers/${uuid(2)}`, { name: "n", parent_provider_uuid: null }).status,
    ],
    [
      "traits",
      /provider_traits/,
      (world: World) => world.send("DELETE", `/resource_providers/${uuid(1)}/traits`).status,
    ],
    [
      "aggregates",
      /COMMIT/,
      (world: World) =>
        world.send("PUT", `/resource_providers/${uuid(1)}/aggregates`, {
          aggregates: [aggregate(5)],
          resource_provider_generation: 6,
        }).status,
    ],
    ["a deletion", /COMMIT/, (world: World) => world.send("DELETE", `/allocations/${consumer(2)}`).status],
  ])("rolls back %s when the database fails", (_what, failing, change) => {
    const database = new FailingDatabase(openDatabase(":memory:"));
    const world = new World({ database });
    fill(world);
    const before = everything(world);
    database.failing = failing;
    expect(change(world)).toBe(500);
    expect(world.log.errors).toEqual(["placement failed to handle a request; responding with 500"]);
    expect(everything(world)).toEqual(before);
    database.failing = undefined;
    expect(change(world)).toBeLessThan(300);
    const again = new World({ database });
    again.now = world.now;
    expect(everything(again)).toEqual(everything(world));
  });

  it("drops the unused indexes of an earlier release", () => {
    const database = openDatabase(":memory:");
    new World({ database });
    database.exec("CREATE INDEX placement_provider_traits_trait ON placement_provider_traits (trait_id)");
    database.exec("CREATE INDEX placement_inventories_class ON placement_inventories (class_id)");
    database.exec("UPDATE placement_schema SET version = 1");
    new World({ database });
    const text = "SELECT name FROM sqlite_schema WHERE name IN (?, ?)";
    expect(database.prepare(text).all("placement_provider_traits_trait", "placement_inventories_class")).toEqual([]);
  });

  it("rejects tables of a newer release", () => {
    const database = openDatabase(":memory:");
    new World({ database });
    database.exec("UPDATE placement_schema SET version = 99");
    expect(() => new World({ database })).toThrow(
      /has version 99 of the placement tables, but this program supports only versions up to 2/,
    );
  });

  it("enforces references and uniqueness also in the database", () => {
    const database = openDatabase(":memory:");
    fill(new World({ database }));
    const expectConstraint = (sql: string) => expect(() => database.exec(sql)).toThrow(/constraint/i);
    expectConstraint("DELETE FROM placement_inventories");
    expectConstraint("DELETE FROM placement_resource_providers WHERE parent_id IS NULL");
    expectConstraint("DELETE FROM placement_consumers");
    expectConstraint("UPDATE placement_resource_providers SET name = 'p1'");
    expectConstraint("UPDATE placement_allocations SET used = 0");
  });
});
