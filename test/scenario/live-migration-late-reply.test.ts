import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { InstanceInvalidState, preCheckFailed } from "../../src/control-plane/conductor/tasks/faults.js";
import { NoValidHost } from "../../src/control-plane/scheduler/errors.js";
import { POWER_STATES } from "../../src/records/index.js";
import { VirtualCloud } from "../fixtures/virtual-cloud.js";
import { ApiWorld } from "../unit/control-plane/compute/api-world.js";

describe("in a cluster", () => {
  let cloud: VirtualCloud;
  let id: string;

  beforeEach(async () => {
    cloud = await VirtualCloud.open();
    await cloud.agent("devstack1");
    await cloud.agent("devstack2");
    const flavorRef = await cloud.flavorId("m1.tiny");
    const server = { name: "vm", flavorRef, imageRef: await cloud.image(), networks: "none", host: "devstack1" };
    const { server: created } = (await cloud.compute("POST", "/servers", { server })).json;
    id = String((created as { id: string }).id);
    await cloud.serverIs(id, (found) => found?.status === "ACTIVE");
  });
  afterEach(() => cloud.close());

  /** Returns the status and message of the response at 2.1, the version of clients without a version. */
  function migrate(body: object): Promise<{ status: number; message: string }> {
    const request = { "os-migrateLive": { host: null, block_migration: true, disk_over_commit: false, ...body } };
    return cloud.compute("POST", `/servers/${id}/action`, request, "2.1").then(
      ({ status }) => ({ status, message: "" }),
      (error: Error) => {
        const [, status, text] = /: (\d+) (\{.*)$/s.exec(error.message) ?? [];
        return { status: Number(status), message: JSON.parse(text ?? "{}").badRequest?.message ?? text };
      },
    );
  }

  const records = async () => {
    const { host, vmState, taskState } = cloud.store.instances.get(id) ?? {};
    const migrations = cloud.store.migrations.byFilters({ instanceUuid: id }).map(({ status }) => status);
    const { allocations } = (await cloud.placement("GET", `/allocations/${id}`)).json;
    return { host, vmState, taskState, migrations, providers: Object.keys(allocations as object).length };
  };
  const UNCHANGED = { host: "devstack1", vmState: "active", taskState: null, migrations: ["error"], providers: 1 };

  test("before 2.34 a live migration to the server's own host is rejected with 400, and the server stays as it was", async () => {
    expect(await migrate({ host: "devstack1" })).toEqual({
      status: 400,
      message: `Unable to migrate instance (${id}) to current host (devstack1).`,
    });
    expect(await records()).toEqual(UNCHANGED);
  });

  test("before 2.34 a live migration without shared storage is rejected with 400 and the reason", async () => {
    const { status, message } = await migrate({ host: "devstack2", block_migration: false });
    expect(status).toBe(400);
    expect(message).toMatch(/storage/);
    expect(message.match(/pre-check error/g) ?? []).toHaveLength(1);
    expect(await records()).toEqual(UNCHANGED);
  });

  test("before 2.34 a live migration without any other host is rejected with 400", async () => {
    await cloud.compute("PUT", `/os-services/${await cloud.serviceId("devstack2")}`, { status: "disabled" });
    const { status, message } = await migrate({});
    expect(status).toBe(400);
    expect(message).toMatch(/^No valid host was found\./);
    expect(await records()).toEqual(UNCHANGED);
  });

  test("before 2.34 an accepted live migration is answered with 202 once its destination is known", async () => {
    expect(await migrate({})).toEqual({ status: 202, message: "" });
    const [migration] = cloud.store.migrations.byFilters({ instanceUuid: id });
    expect(migration).toMatchObject({ migrationType: "live-migration", destCompute: "devstack2" });
    await cloud.serverIs(id, (server) => server?.["OS-EXT-SRV-ATTR:host"] === "devstack2");
  });
});

test.each<[string, number, (uuid: string) => Error, (uuid: string) => string]>([
  ["no host", 400, () => new NoValidHost("Why."), () => "No valid host was found. Why."],
  ["a failed pre-check", 400, () => preCheckFailed("why"), () => "Migration pre-check error: why"],
  [
    "a guest that does not run",
    409,
    (uuid) => new InstanceInvalidState(uuid, POWER_STATES.shutdown),
    (uuid) => `Cannot 'os-migrateLive' instance ${uuid} while it is in power_state shutdown`,
  ],
  ["anything else", 500, () => new TypeError("a defect"), () => expect.stringContaining("Unexpected API Error.")],
])("before 2.34 the conductor's failure is the response: %s is %i", async (_why, status, failure, message) => {
  const world = await ApiWorld.open();
  world.host("devstack1");
  const instance = world.server("devstack1");
  const body = { "os-migrateLive": { host: null, block_migration: "auto" } };
  world.taskFailure = failure(instance.uuid);
  const reply = await world.act(instance, body, 33);
  expect([reply.status, reply.message]).toEqual([status, message(instance.uuid)]);
  expect(world.tasks(), "the stored task does not depend on the client").toHaveLength(1);
  expect((await world.act(world.server("devstack1"), body, 34)).status, "which does not wait").toBe(202);
});
