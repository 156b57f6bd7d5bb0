import { beforeEach, expect, onTestFinished, test } from "vitest";
import { openStore } from "../../../../src/control-plane/store/open-store.js";
import { refreshZones } from "../../../../src/control-plane/store/services.js";
import type { Store } from "../../../../src/control-plane/store/store.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { fillStore } from "../../../fixtures/large-cloud.js";
import { uuidOf } from "./support.js";

let store: Store;
let queries: { readonly text: string; readonly values: readonly unknown[] }[];

beforeEach(async () => {
  // Not shared with other tests: the store is wrapped, and libsql leaves a query plan open, which locks its tables.
  store = await openStore({ path: ":memory:", runtime: createVirtualRuntime({ seed: 1 }) });
  onTestFinished(() => store.close());
  fillStore(store, { hosts: 4, servers: 8 });
  queries = [];
  const { database } = store;
  const all = database.all.bind(database);
  database.all = (text, ...values) => {
    queries.push({ text, values });
    return all(text, ...values);
  };
});

/** Returns SQLite's plan for the last query. */
function plan(): string {
  const { text, values } = queries.at(-1) ?? { text: "", values: [] };
  const steps = store.database.file.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...(values as string[]));
  return (steps as { detail: string }[]).map(({ detail }) => detail).join("; ");
}

const FULL_SCAN = /SCAN (instances|services|compute_nodes|migrations)\b(?! USING)|TEMP B-TREE/;

test.each<[string, (store: Store) => unknown, string]>([
  [
    "instances of all projects, from a place",
    ({ instances }) => instances.names({ deleted: false, limit: 3, after: [Date.now(), 5] }),
    "instances_alive_by_age (created_at<?)",
  ],
  [
    "instances of a project, from a place",
    ({ instances }) => instances.names({ projectId: "p", deleted: false, limit: 3, after: [Date.now(), 5] }),
    "instances_by_project (project_id=? AND deleted=? AND created_at<?)",
  ],
  [
    "instances in one state",
    ({ instances }) => instances.names({ vmStates: ["error"], deleted: false, limit: 3 }),
    "instances_alive_by_state (vm_state=?)",
  ],
  [
    "migrations, from a place",
    ({ migrations }) => migrations.newest({}, { limit: 3, after: [Date.now(), 5] }),
    "migrations_alive_by_age (created_at<?)",
  ],
  ["services, from a place", ({ services }) => services.list({ after: 2, limit: 3 }), "PRIMARY KEY (rowid>?)"],
  ["nodes, from a place", ({ computeNodes }) => computeNodes.served({ after: 2, limit: 3 }), "PRIMARY KEY (rowid>?)"],
])("a page is read from an index without sorting: %s", (_what, read, index) => {
  read(store);
  expect(plan()).toContain(index);
  expect(plan()).not.toMatch(FULL_SCAN);
});

test.each<[string, (store: Store) => unknown]>([
  ["instances by uuid", ({ instances }) => instances.list({ deleted: false, uuids: [uuidOf(1), uuidOf(2)] })],
  ["instances of a host", ({ instances }) => instances.list({ deleted: false, host: "host-1" })],
  ["instances of hosts", ({ instances }) => instances.namesByHosts(["host-1"])],
  ["what a hypervisor has", ({ instances }) => instances.byFilters({ uuids: [uuidOf(1)] })],
  ["services of hosts", ({ services }) => services.byHosts(["host-1"], "nova-compute")],
  ["availability zones of hosts", ({ database }) => refreshZones(database, ["host-1"])],
  ["nodes by id", ({ computeNodes }) => computeNodes.servedByIds([1, 2])],
])("rows are found by an index: %s", (_what, read) => {
  read(store);
  expect(plan()).not.toMatch(/SCAN (instances|services|compute_nodes|members|metadata)/);
});
