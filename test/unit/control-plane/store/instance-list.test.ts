import { describe, expect, test } from "vitest";
import { NamePattern } from "../../../../src/control-plane/compute/api/name-pattern.js";
import type { InstanceQuery } from "../../../../src/control-plane/store/instance-queries.js";
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
  test("is sorted newest first; deleted and soft-deleted instances are included only on request", async () => {
    const { list } = await fleet();
    expect(list({})).toEqual(["db-1", "web-2", "web-1"]);
    expect(list({ deleted: true })).toEqual(["gone"]);
    expect(list({ vmStates: ["soft-delete"] })).toEqual(["bin"]);
  });

  test("includes deletions if changes are requested", async () => {
    const { list, runtime } = await fleet();
    expect(list({ changesSince: runtime.clock.now() - 500 })).toEqual(["bin", "gone"]);
    expect(list({ changesSince: runtime.clock.now() - 500, deleted: false, vmStates: ["soft-delete"] })).toEqual([
      "bin",
    ]);
    expect(list({ changesBefore: runtime.clock.now() - 4_500 })).toEqual(["web-1"]);
  });

  test("is filtered by all filters", async () => {
    const { list } = await fleet();
    expect(list({ projectId: "other" })).toEqual(["db-1"]);
    expect(list({ flavorId: "big" })).toEqual(["web-1"]);
    expect(list({ uuids: [uuidOf(1), uuidOf(3)] })).toEqual(["web-2"]);
    expect(list({ host: "nowhere" })).toEqual([]);
    expect(list({ taskStates: [null] })).toEqual([]);
  });

  test("includes names that match the pattern, and all names with non-ASCII characters", async () => {
    const { store } = await memoryStore();
    // In the last two, case folding converts a letter to k and s.
    const names = ["web-1", "WEB-1", "a web-12", "web_1", "w%b", "back\\slash", "x\ny", "\u212aeb-1", "a\u017f"];
    for (const [index, displayName] of names.entries()) {
      addInstance(store, uuidOf(index), { displayName });
    }
    const nameFilters = ["web-1", "^web-1$", "b-1$", "^a", "b_1", "w%b", "^keb-1$", "s", "\\\\", "n", "nothing"];
    for (const text of nameFilters) {
      const pattern = new NamePattern(text);
      const nameLike = String(pattern.like);
      const found = store.instances.names({ nameLike }).map(({ displayName }) => displayName);
      const unknown = (name: string) => /[^ -~]/.test(name);
      expect(
        names.filter((name) => pattern.matches(name) || unknown(name)),
        text,
      ).toEqual(found.reverse());
    }
  });

  test("returns the names of the same rows in the same order", async () => {
    const { store, list } = await fleet();
    const query = { projectId: "project", sort: [{ key: "displayName", direction: "asc" }] } as const;
    expect(store.instances.names(query)).toMatchObject([
      { uuid: uuidOf(0), displayName: "web-1" },
      { uuid: uuidOf(1), displayName: "web-2" },
    ]);
    expect(list(query)).toEqual(["web-1", "web-2"]);
  });

  test("returns pages after a position, even if several rows have the same key", async () => {
    const { store, list } = await fleet();
    const sort = [{ key: "vmState", direction: "asc" }] as const;
    const behind = (number: number, limit: number) => {
      const after = store.instances.place(uuidOf(number), { sort });
      return list({ sort, limit, ...(after ? { after } : {}) });
    };
    expect(list({ sort })).toEqual(["web-1", "web-2", "db-1"]);
    expect(behind(0, 1)).toEqual(["web-2"]);
    expect(behind(2, 9)).toEqual([]);
    expect(list({ limit: 0 })).toEqual([]);
  });

  test("has each instance on exactly one page, with every order and with missing values", async () => {
    const { store } = await memoryStore();
    for (let index = 0; index < 12; index += 1) {
      const values = {
        keyName: [null, "a", "b"][index % 3] ?? null,
        progress: index % 2,
        displayName: `s${index % 5}`,
      };
      addInstance(store, uuidOf(index), values);
    }
    const keys = ["keyName", "progress", "displayName", "createdAt"] as const;
    for (const first of keys) {
      for (const second of keys) {
        for (const [one, two] of [
          ["asc", "asc"],
          ["asc", "desc"],
          ["desc", "asc"],
          ["desc", "desc"],
        ] as const) {
          const sort = [
            { key: first, direction: one },
            { key: second, direction: two },
          ];
          const allUuids = store.instances.names({ sort }).map(({ uuid }) => uuid);
          const paged: string[] = [];
          let page = store.instances.names({ sort, limit: 5 });
          while (page.length > 0) {
            paged.push(...page.map(({ uuid }) => uuid));
            page = store.instances.names({ sort, limit: 5, after: page.at(-1)?.place ?? [] });
          }
          expect(paged, `${first} ${one}, ${second} ${two}`).toEqual(allUuids);
        }
      }
    }
  });

  test("has positions of the project's instances, deleted or not, as requested", async () => {
    const { store } = await fleet();
    expect(store.instances.place(uuidOf(9), {})).toBeNull();
    expect(store.instances.place(uuidOf(0), { projectId: "other" })).toBeNull();
    expect(store.instances.place(uuidOf(3), { deleted: false })).toBeNull();
    expect(store.instances.place(uuidOf(3), {})).not.toBeNull();
  });

  test("rejects an unknown sort key", async () => {
    const { list } = await fleet();
    const sort = [{ key: "metadata" as const, direction: "asc" as const }];
    expect(errorOf(() => list({ sort })).message).toContain("displayName");
  });
});
