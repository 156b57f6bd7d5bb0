import { chmodSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { applySchema } from "../../../../src/control-plane/database/schema-steps.js";
import { openStore } from "../../../../src/control-plane/store/open-store.js";
import { STORE_SCHEMA } from "../../../../src/control-plane/store/schema/store-schema.js";
import type { StoreChange } from "../../../../src/control-plane/store/store-context.js";
import { NodeFiles } from "../../../../src/runtime/node/node-files.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { addInstance, addService, errorOf, memoryStore, uuidOf } from "./support.js";

const LIST_INDEXES = ["instances_alive_by_age", "instances_alive_by_state", "migrations_alive_by_age"] as const;

describe("the file", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "store-"));
  });
  afterEach(() => {
    chmodSync(folder, 0o700);
    rmSync(folder, { recursive: true });
  });
  const runtime = { ...createVirtualRuntime(), files: new NodeFiles() };
  const open = (name = "state.db") => openStore({ path: join(folder, name), runtime });

  test("is readable only by its owner, including its companion files", async () => {
    const store = await open();
    addService(store);
    for (const name of ["state.db", "state.db-wal"]) {
      expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    }
    store.close();
  });

  test("contains what was written", async () => {
    const before = await open();
    const service = addService(before);
    before.close();
    const after = await open();
    expect(after.services.list()).toEqual([service]);
    after.close();
  });

  test("of an older program is migrated; the request of an operation in progress is unknown", async () => {
    const before = await open();
    addInstance(before, uuidOf(1), { taskState: "powering-on", taskRequestId: "req-a" });
    for (const undo of [
      ...["network_quotas", "network_tags", "flat_ports", "flat_security_group_rules", "flat_security_groups"].map(
        (name) => `DROP TABLE ${name}`,
      ),
      "DROP TABLE block_device_mappings",
      "ALTER TABLE instances DROP COLUMN task_request_id",
      "ALTER TABLE instances DROP COLUMN delete_request_id",
      "ALTER TABLE host_leases RENAME COLUMN renewed_at TO seen_at",
      "DROP TABLE host_epochs",
      "DROP TABLE key_pairs",
      "DROP TABLE quotas",
      "DROP TABLE quota_classes",
      "DROP TABLE server_group_members",
      "DROP TABLE server_groups",
      ...["key_data", "access_ip_v4", "access_ip_v6", "auto_disk_config", "injected_files"].map(
        (column) => `ALTER TABLE instances DROP COLUMN ${column}`,
      ),
      "DROP TABLE task_log",
      "ALTER TABLE request_specs DROP COLUMN scheduler_hints",
      "DROP INDEX services_by_version",
      ...LIST_INDEXES.map((index) => `DROP INDEX ${index}`),
      "DELETE FROM schema_steps WHERE component = 'conductor' AND version > 4",
    ]) {
      before.database.run(undo);
    }
    before.close();
    const after = await open();
    expect(after.instances.get(uuidOf(1))).toMatchObject({
      taskState: "powering-on",
      taskRequestId: null,
      deleteRequestId: null,
    });
    const indexes = after.database.all("SELECT name FROM sqlite_schema WHERE type = 'index'").flat();
    expect(indexes).toEqual(expect.arrayContaining([...LIST_INDEXES]));
    after.close();
  });

  test("of a newer program is rejected and not changed", async () => {
    const store = await open();
    const newest = STORE_SCHEMA.at(-1)?.version ?? 0;
    const later = [...STORE_SCHEMA, { version: newest + 1, name: "later", sql: "CREATE TABLE later (a INTEGER)" }];
    applySchema(store.database, "conductor", later, 0);
    store.close();
    await expect(open()).rejects.toMatchObject({ code: "DatabaseTooNew" });
    await expect(open()).rejects.toThrow(
      `version ${newest + 1} of the conductor tables, but this program supports only versions up to ${newest}`,
    );
  });
});

describe("schema steps", () => {
  test("run once each, and a failing one changes nothing", async () => {
    const { store } = await memoryStore();
    const step = (version: number, sql: string) => ({ version, name: `step ${version}`, sql });
    const one = step(1, "CREATE TABLE extra (a INTEGER)");
    applySchema(store.database, "extra", [one], 0);
    const broken = step(2, "CREATE TABLE half (a INTEGER); CREATE TABLE extra (b INTEGER)");
    expect(() => applySchema(store.database, "extra", [one, broken], 0)).toThrow(/already exists/);
    expect(store.database.get("SELECT count(*) FROM sqlite_master WHERE name = 'half'")).toEqual([0]);
    applySchema(store.database, "extra", [one, step(2, "ALTER TABLE extra ADD COLUMN b INTEGER")], 7);
    expect(store.database.all("SELECT version, applied_at FROM schema_steps WHERE component = 'extra'")).toEqual([
      [1, 0],
      [2, 7],
    ]);
  });
});

describe("transactions", () => {
  test("an exception rolls back everything, including nested transactions", async () => {
    const { store } = await memoryStore();
    const error = new Error("stop");
    const work = () =>
      store.transaction(() => {
        addService(store);
        store.transaction(() => addInstance(store));
        throw error;
      });
    expect(errorOf(work)).toBe(error);
    expect([store.services.list(), store.instances.list({})]).toEqual([[], []]);
  });

  test("an inner exception that is caught rolls back only the inner transaction", async () => {
    const { store } = await memoryStore();
    store.transaction(() => {
      addService(store);
      errorOf(() =>
        store.transaction(() => {
          addInstance(store);
          throw new Error("inner");
        }),
      );
    });
    expect([store.services.list().length, store.instances.list({}).length]).toEqual([1, 0]);
  });

  test("listeners are notified of changes after the commit, in order, and never of changes that were rolled back", async () => {
    const { store } = await memoryStore();
    const changes: StoreChange[] = [];
    const stop = store.onChange((change) => changes.push(change));
    store.transaction(() => {
      addInstance(store);
      errorOf(() =>
        store.transaction(() => {
          addService(store);
          throw new Error("inner");
        }),
      );
      store.messages.enqueue({ host: "devstack1", method: "m", params: "{}", requestId: "r" });
      expect(changes).toEqual([]);
    });
    expect(changes).toEqual([
      { kind: "instance", id: uuidOf(1) },
      { kind: "message", id: "devstack1" },
    ]);
    stop();
    addService(store);
    expect(changes).toHaveLength(2);
  });

  test("a listener that throws does not affect others", async () => {
    const { store, runtime } = await memoryStore();
    const changes: StoreChange[] = [];
    store.onChange(() => {
      throw new Error("listener");
    });
    store.onChange((change) => changes.push(change));
    const service = addService(store);
    expect(changes).toEqual([{ kind: "service", id: service.id }]);
    expect(runtime.logs).toMatchObject([{ level: "error" }]);
  });
});
