import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { startCluster } from "../../../src/cluster/index.js";
import { IRONIC_SCHEMA } from "../../../src/control-plane/bare-metal/ironic.js";
import { DatabaseFile } from "../../../src/control-plane/database/database-file.js";
import { applySchema, type SchemaStep } from "../../../src/control-plane/database/schema-steps.js";
import { Sql } from "../../../src/control-plane/database/sql.js";
import { IDENTITY_SCHEMA } from "../../../src/control-plane/identity/store/identity-schema.js";
import { IMAGE_SCHEMA } from "../../../src/control-plane/image/image-tables.js";
import { STORE_SCHEMA } from "../../../src/control-plane/store/schema/store-schema.js";
import { withCluster } from "./support/client.js";

let stateDir: string;

beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), "older-state-"));
});
afterEach(() => rm(stateDir, { recursive: true }));

const SERVICE = "11111111-1111-4111-8111-111111111111";

/** Creates a state directory of another release, with a host that an operator has disabled. */
async function leftBy(components: Readonly<Record<string, readonly SchemaStep[]>>): Promise<void> {
  await mkdir(join(stateDir, "agents", "devstack1"), { recursive: true });
  await writeFile(join(stateDir, "agents", "devstack1", "compute_id"), "22222222-2222-4222-8222-222222222222\n");
  const sql = new Sql(new DatabaseFile(join(stateDir, "state.sqlite"), ["PRAGMA journal_mode = WAL"]));
  for (const [component, steps] of Object.entries(components)) {
    applySchema(sql, component, steps, 0);
  }
  sql.run(
    `INSERT INTO services (uuid, host, binary, topic, disabled, disabled_reason, version, availability_zone, created_at)
     VALUES (?, 'devstack1', 'nova-compute', 'compute', 1, 'fan is loud', 73, 'nova', 0)`,
    SERVICE,
  );
  sql.file.close();
}

it("a cluster continues in the state directory of the first release", async () => {
  await leftBy({
    conductor: STORE_SCHEMA.slice(0, 1),
    identity: IDENTITY_SCHEMA.slice(0, 1),
    image: IMAGE_SCHEMA.slice(0, 1),
    ironic: IRONIC_SCHEMA.slice(0, 1),
  });
  await withCluster({ hosts: 2, stateDir }, async (cloud, client) => {
    const sql = new Sql(new DatabaseFile(join(stateDir, "state.sqlite")));
    const retainedServices = sql.all("SELECT uuid, disabled_reason FROM services WHERE host = 'devstack1'");
    sql.file.close();
    expect(retainedServices).toEqual([[SERVICE, "fan is loud"]]);
    const id = await client.create("vm1");
    await cloud.settled();
    expect(await client.status(id)).toBe("ACTIVE");
    expect(await cloud.audit()).toEqual([]);
  });
});

it("a cluster rejects the state directory of a later release, with instructions", async () => {
  const version = STORE_SCHEMA.length + 1;
  await leftBy({ conductor: [...STORE_SCHEMA, { version, name: "later", sql: "CREATE TABLE later (a INTEGER)" }] });
  const started = startCluster({ hosts: 1, stateDir });
  await expect(started).rejects.toThrow(`has version ${version} of the conductor tables`);
  await expect(started).rejects.toThrow("start the newer program again, or select another one with --state-dir");
});
