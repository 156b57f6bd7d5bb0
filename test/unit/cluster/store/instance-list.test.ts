import { describe, expect, test } from "vitest";
import type { InstanceQuery } from "../../../../src/cluster/store/instance-queries.js";
import { InvalidParameters } from "../../../../src/conductor/errors.js";
import { addInstance, errorOf, FLAVOR, memoryStore, uuidOf } from "./support.js";

async function fleet() {
  const { store, runtime } = await memoryStore();
  const names = ["web-1", "web-2", "db-1", "gone", "bin"];
  for (const [index, displayName] of names.entries()) {
    addInstance(store, uuidOf(index), {
      displayName,
      projectId: index === 2 ? "other" : "project",
      flavor: { ...FLAVOR, flavorid: index === 0 ? "big" : "1" },
    });
    await runtime.advance(1_000);
  }
  store.instances.destroy(uuidOf(3));
  store.instances.save(uuidOf(4), { vmState: "soft-delete" });
  const list = (query: InstanceQuery) => store.instances.list(query).map(({ displayName }) => displayName);
  return { store, runtime, list };
}

describe("the Compute API's list of instances", () => {
  test("newest first; deleted and soft-deleted ones only when they are asked for", async () => {
    const { list } = await fleet();
    expect(list({})).toEqual(["db-1", "web-2", "web-1"]);
    expect(list({ deleted: true })).toEqual(["gone"]);
    expect(list({ vmStates: ["soft-delete"] })).toEqual(["bin"]);
  });

  test("who asks for changes hears of deletions", async () => {
    const { list, runtime } = await fleet();
    expect(list({ changesSince: runtime.clock.now() - 500 })).toEqual(["bin", "gone"]);
    expect(list({ changesSince: runtime.clock.now() - 500, deleted: false, vmStates: ["soft-delete"] })).toEqual([
      "bin",
    ]);
    expect(list({ changesBefore: runtime.clock.now() - 4_500 })).toEqual(["web-1"]);
  });

  test("filters", async () => {
    const { list } = await fleet();
    expect(list({ projectId: "other" })).toEqual(["db-1"]);
    expect(list({ flavorId: "big" })).toEqual(["web-1"]);
    expect(list({ uuids: [uuidOf(1), uuidOf(3)] })).toEqual(["web-2"]);
    expect(list({ host: "nowhere" })).toEqual([]);
    expect(list({ taskStates: [null] })).toEqual([]);
  });

  test("names of the same rows in the same order, without limit and marker", async () => {
    const { store, list } = await fleet();
    const query = { projectId: "project", sort: [{ key: "displayName", direction: "asc" }] } as const;
    expect(store.instances.names({ ...query, limit: 1, marker: uuidOf(1) })).toEqual([
      { uuid: uuidOf(0), displayName: "web-1" },
      { uuid: uuidOf(1), displayName: "web-2" },
    ]);
    expect(list(query)).toEqual(["web-1", "web-2"]);
  });

  test("pages by marker, also when several rows have the same key", async () => {
    const { list } = await fleet();
    const sort = [{ key: "vmState", direction: "asc" }] as const;
    expect(list({ sort })).toEqual(["web-1", "web-2", "db-1"]);
    expect(list({ sort, marker: uuidOf(0), limit: 1 })).toEqual(["web-2"]);
    expect(list({ sort, marker: uuidOf(2) })).toEqual([]);
    expect(list({ limit: 0 })).toEqual([]);
  });

  test("an unknown marker or sort key is refused", async () => {
    const { list } = await fleet();
    expect(errorOf(() => list({ marker: uuidOf(9) }))).toBeInstanceOf(InvalidParameters);
    const sort = [{ key: "metadata" as const, direction: "asc" as const }];
    expect(errorOf(() => list({ sort })).message).toContain("displayName");
  });
});
