import { beforeEach, describe, expect, test } from "vitest";
import type { Instance, MigrationStatus, MigrationType, NewInstance } from "../../../../src/records/index.js";
import { ApiWorld, CIRROS, TINY } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.flavor({ flavorid: "2", name: "m1.small", memoryMb: 2048, rootGb: 20 });
  world.flavor({ flavorid: "off", name: "m1.off", disabled: true });
  world.flavor({ flavorid: "diskless", name: "m1.diskless", rootGb: 0 });
  world.host("devstack1");
  world.host("devstack2");
});

const actionsOf = ({ uuid }: Instance) => world.store.actions.list(uuid).map(({ action }) => action);
function migrationOf(
  { uuid }: Instance,
  status: MigrationStatus,
  migrationType: MigrationType = "migration",
  sourceCompute = "devstack2",
) {
  return world.store.migrations.create({
    instanceUuid: uuid,
    migrationType,
    status,
    changes: { sourceCompute, sourceNode: sourceCompute, destCompute: "devstack1" },
  });
}

describe("6.3 row 1: migrate and resize", () => {
  test.each<[number, unknown, string | null]>([
    [1, null, null],
    [1, { host: "devstack2" }, null],
    [55, null, null],
    [56, null, null],
    [56, {}, null],
    [56, { host: "devstack2" }, "devstack2"],
    [56, { host: null }, null],
  ])("2.%i migrate %j", async (version, migrate, host) => {
    const instance = world.server("devstack1");
    const reply = await world.act(instance, { migrate }, version);
    expect(reply.status, reply.body).toBe(202);
    expect(world.stateOf(instance)).toEqual(["active", "resize_prep"]);
    expect(world.tasks()).toMatchObject([{ kind: "migrate_server", flavor: { id: instance.flavor.id }, host }]);
    expect(actionsOf(instance)).toEqual(["migrate"]);
    expect(world.wakes).toBe(1);
  });

  test("resize saves the task state and adds a task", async () => {
    const instance = world.server("devstack1", { vmState: "stopped" });
    expect((await world.act(instance, { resize: { flavorRef: "2", "OS-DCF:diskConfig": "AUTO" } })).status).toBe(202);
    expect(world.stateOf(instance)).toEqual(["stopped", "resize_prep"]);
    expect(world.tasks()).toMatchObject([{ kind: "migrate_server", flavor: { flavorid: "2" }, host: null }]);
    expect(actionsOf(instance)).toEqual(["resize"]);
    const reply = await world.ask({ url: `/compute/v2.1/servers/${instance.uuid}` });
    expect(reply.json("server", "status")).toBe("RESIZE");
  });

  test.each<[number, string, unknown, Partial<NewInstance>]>([
    [400, "Cannot migrate to the host where the server exists.", { migrate: { host: "devstack1" } }, {}],
    [400, "Compute host nowhere could not be found.", { migrate: { host: "nowhere" } }, {}],
    [409, "Cannot 'migrate' instance ID while it is in vm_state paused", { migrate: null }, { vmState: "paused" }],
    [
      409,
      "Cannot 'resize' instance ID while it is in task_state rebooting",
      { resize: { flavorRef: "2" } },
      { taskState: "rebooting" },
    ],
    [400, "When resizing, instances must change flavor!", { resize: { flavorRef: "1" } }, {}],
    [400, "Flavor 99 could not be found.", { resize: { flavorRef: "99" } }, {}],
    [400, "Flavor off could not be found.", { resize: { flavorRef: "off" } }, {}],
    [
      400,
      "Server disk was unable to be resized because: Resize to zero disk flavor is not allowed.",
      { resize: { flavorRef: "diskless" } },
      {},
    ],
  ])("6.8 %i %s", async (status, message, body, changes) => {
    const instance = world.server("devstack1", changes);
    const reply = await world.act(instance, body, 90);
    expect([reply.status, reply.message]).toEqual([status, message.replace("ID", instance.uuid)]);
    expect(world.tasks()).toEqual([]);
  });

  test("6.8 409 if the source is down, or if the server is locked and the caller no administrator", async () => {
    const locked = world.server("devstack1", { locked: true, projectId: world.projectId("demo") });
    const demo = await world.token("demo");
    expect((await world.act(locked, { resize: { flavorRef: "2" } }, 1, demo)).status).toBe(409);
    expect((await world.act(locked, { migrate: null }, 1, demo)).status).toBe(403);
    world.fence("devstack1");
    expect((await world.act(world.server("devstack1"), { migrate: null })).status).toBe(409);
  });
});

describe("6.3 confirm and revert", () => {
  test("confirm is cast to the source, once", async () => {
    const instance = world.server("devstack1", { vmState: "resized" });
    const { id } = migrationOf(instance, "finished");
    expect((await world.act(instance, { confirmResize: null })).status).toBe(204);
    expect(world.store.migrations.get(id)?.status).toBe("confirming");
    expect(world.casts).toMatchObject([{ host: "devstack2", method: "confirm_resize", params: { migrationId: id } }]);
    const again = await world.act(instance, { confirmResize: null });
    expect([again.status, again.message]).toEqual([400, "Instance has not been resized."]);
  });

  test("confirm needs a source that is up and a server that waits for confirmation", async () => {
    const instance = world.server("devstack1", { vmState: "resized" });
    const { id } = migrationOf(instance, "finished");
    world.fence("devstack2");
    expect((await world.act(instance, { confirmResize: null })).status).toBe(409);
    expect(world.store.migrations.get(id)?.status).toBe("finished");
    expect((await world.act(world.server("devstack1"), { confirmResize: null })).status).toBe(409);
  });

  test("revert is cast to the destination even while the source is down, and restores the flavor of the request spec", async () => {
    const small = world.store.flavors.getByFlavorid("2");
    const tiny = world.store.flavors.getByFlavorid("1");
    if (!small || !tiny) {
      throw new Error("no flavors");
    }
    const instance = world.server("devstack1", { vmState: "resized", flavor: small, oldFlavor: tiny });
    const { uuid: instanceUuid, projectId, userId, imageRef } = instance;
    const spec = {
      instanceUuid,
      projectId,
      userId,
      flavor: small,
      imageRef,
      isBfv: false,
      numInstances: 1,
      schedulerHints: {},
    };
    world.store.requests.createSpec({ ...spec, availabilityZone: null });
    const { id } = migrationOf(instance, "finished");
    world.fence("devstack2");
    expect((await world.act(instance, { revertResize: null })).status).toBe(202);
    expect(world.stateOf(instance)).toEqual(["resized", "resize_reverting"]);
    expect(world.store.migrations.get(id)?.status).toBe("reverting");
    expect(world.store.requests.spec(instanceUuid)?.flavor).toEqual(tiny);
    expect(world.casts).toMatchObject([{ host: "devstack1", method: "revert_resize" }]);
    const reply = await world.ask({ url: `/compute/v2.1/servers/${instanceUuid}` });
    expect(reply.json("server", "status")).toBe("REVERT_RESIZE");
  });
});

describe("6.5 row 1: os-migrateLive", () => {
  const live = (host: string | null, more: object) => ({ "os-migrateLive": { host, ...more } });

  test.each<[number, unknown, object]>([
    [
      1,
      live("devstack2", { block_migration: false, disk_over_commit: "True" }),
      { host: "devstack2", forced: true, blockMigration: false, diskOverCommit: true },
    ],
    [
      1,
      live(null, { block_migration: true, disk_over_commit: false }),
      { host: null, forced: false, blockMigration: true },
    ],
    [25, live("devstack2", { block_migration: "auto" }), { forced: true, blockMigration: null, diskOverCommit: false }],
    [30, live("devstack2", { block_migration: "auto" }), { forced: false }],
    [30, live("devstack2", { block_migration: "auto", force: "true" }), { forced: true }],
    [68, live("devstack2", { block_migration: "auto" }), { forced: false }],
  ])("2.%i %j", async (version, body, expected) => {
    const instance = world.server("devstack1", { vmState: "paused" });
    const reply = await world.act(instance, body, version);
    expect(reply.status, reply.body).toBe(202);
    expect(world.stateOf(instance)).toEqual(["paused", "migrating"]);
    expect(world.tasks()).toMatchObject([{ kind: "live_migrate_instance", ...expected }]);
    expect(actionsOf(instance)).toEqual(["live-migration"]);
  });

  test.each<[number, number, unknown, Partial<NewInstance>]>([
    [1, 400, live("devstack2", { block_migration: "auto", disk_over_commit: false }), {}],
    [25, 400, live("devstack2", { block_migration: "auto", disk_over_commit: false }), {}],
    [29, 400, live("devstack2", { block_migration: "auto", force: true }), {}],
    [30, 400, live(null, { block_migration: "auto", force: true }), {}],
    [68, 400, live("devstack2", { block_migration: "auto", force: true }), {}],
    [68, 400, live("nowhere", { block_migration: "auto" }), {}],
    [68, 409, live(null, { block_migration: "auto" }), { vmState: "stopped" }],
    [68, 409, live(null, { block_migration: "auto" }), { taskState: "migrating" }],
  ])("2.%i is rejected with %i: %j of %j", async (version, status, body, changes) => {
    const reply = await world.act(world.server("devstack1", changes), body, version);
    expect(reply.status, reply.body).toBe(status);
    expect(world.tasks()).toEqual([]);
  });
});

describe("6.5 force-complete and abort", () => {
  const under = (instance: Instance, id: number, path = "") =>
    `/compute/v2.1/servers/${instance.uuid}/migrations/${id}${path}`;
  const forceComplete = (instance: Instance, id: number, version = 22) =>
    world.ask({ method: "POST", url: under(instance, id, "/action"), body: { force_complete: null }, version });
  const abort = (instance: Instance, id: number, version = 24) =>
    world.ask({ method: "DELETE", url: under(instance, id), version });

  test("are cast to the source", async () => {
    const instance = world.server("devstack2", { taskState: "migrating" });
    const { id } = migrationOf(instance, "running", "live-migration");
    expect((await forceComplete(instance, id)).status).toBe(202);
    expect((await abort(instance, id)).status).toBe(202);
    expect(world.casts.map(({ host, method }) => [host, method])).toEqual([
      ["devstack2", "live_migration_force_complete"],
      ["devstack2", "live_migration_abort"],
    ]);
    expect(actionsOf(instance)).toEqual(["live_migration_cancel", "live_migration_force_complete"]);
  });

  test.each<[MigrationStatus, number, number, number]>([
    ["queued", 64, 400, 400],
    ["queued", 65, 400, 202],
    ["preparing", 65, 400, 202],
    ["completed", 65, 400, 400],
  ])("of a migration that is %s at 2.%i: %i and %i", async (status, version, force, abandon) => {
    const instance = world.server("devstack2", { taskState: "migrating" });
    const { id } = migrationOf(instance, status, "live-migration");
    const rejection = await forceComplete(instance, id, version);
    expect([rejection.status, rejection.message]).toEqual([
      force,
      `Migration ${id} state of instance ${instance.uuid} is ${status}. Cannot force complete while the migration is in this state.`,
    ]);
    expect((await abort(instance, id, version)).status).toBe(abandon);
  });

  test("6.8 404 for another server's migration, 409 for a server that is not migrating, 404 before their microversions", async () => {
    const instance = world.server("devstack2", { taskState: "migrating" });
    const { id } = migrationOf(world.server("devstack2"), "running", "live-migration");
    expect((await abort(instance, id)).status).toBe(404);
    expect((await forceComplete(instance, 99)).status).toBe(404);
    expect((await abort(world.server("devstack1"), id)).status).toBe(409);
    expect((await forceComplete(instance, id, 21)).status).toBe(404);
    expect((await abort(instance, id, 23)).status).toBe(404);
  });
});

describe("6.6 states", () => {
  test.each<[unknown, Partial<NewInstance>, string, string, number]>([
    [{ pause: null }, {}, "pausing", "pause_instance", 202],
    [{ unpause: null }, { vmState: "paused" }, "unpausing", "unpause_instance", 202],
    [{ suspend: null }, {}, "suspending", "suspend_instance", 202],
    [{ resume: null }, { vmState: "suspended" }, "resuming", "resume_instance", 202],
    [{ rescue: null }, { vmState: "stopped" }, "rescuing", "rescue_instance", 200],
    [{ rescue: { adminPass: "x", rescue_image_ref: CIRROS } }, {}, "rescuing", "rescue_instance", 200],
    [{ unrescue: null }, { vmState: "rescued" }, "unrescuing", "unrescue_instance", 202],
    [{ shelve: null }, { vmState: "suspended" }, "shelving", "shelve_instance", 202],
    [{ shelve: null }, { imageRef: "" }, "shelving_offloading", "shelve_offload_instance", 202],
    [{ shelveOffload: null }, { vmState: "shelved" }, "shelving_offloading", "shelve_offload_instance", 202],
    [{ restore: null }, { vmState: "soft-delete" }, "restoring", "restore_instance", 202],
    [{ rebuild: { imageRef: CIRROS, name: "other" } }, { vmState: "error" }, "rebuilding", "rebuild_instance", 202],
  ])("%j of %j", async (body, changes, taskState, method, status) => {
    const instance = world.server("devstack1", changes);
    const reply = await world.act(instance, body);
    expect(reply.status, reply.body).toBe(status);
    expect(world.stateOf(instance)).toEqual([instance.vmState, taskState]);
    expect(world.casts.map((cast) => [cast.host, cast.method])).toEqual([["devstack1", method]]);
    expect(actionsOf(instance)).toHaveLength(1);
  });

  test("rescue rejects an unknown image with Nova's message", async () => {
    const rescue = { rescue_image_ref: "5a000000-0000-4000-8000-000000000001" };
    const reply = await world.act(world.server("devstack1"), { rescue });
    const text = `Requested rescue image '${rescue.rescue_image_ref}' is not supported`;
    expect([reply.status, reply.json("badRequest", "message")]).toEqual([400, text]);
  });

  test.each<[unknown, Partial<NewInstance>]>([
    [{ pause: null }, { vmState: "stopped" }],
    [{ unpause: null }, {}],
    [{ resume: null }, {}],
    [{ unrescue: null }, {}],
    [{ shelveOffload: null }, {}],
    [{ unshelve: null }, {}],
    [{ restore: null }, {}],
    [{ rebuild: { imageRef: CIRROS } }, { vmState: "paused" }],
    [{ suspend: null }, { taskState: "pausing" }],
  ])("6.8 409 %j of %j", async (body, changes) => {
    const reply = await world.act(world.server("devstack1", changes), body);
    expect(reply.status, reply.body).toBe(409);
    expect(world.casts).toEqual([]);
  });

  test("rebuild returns the server and saves the requested attributes", async () => {
    const instance = world.server("devstack1");
    const { uuid: instanceUuid, projectId, userId, flavor } = instance;
    const spec = {
      instanceUuid,
      projectId,
      userId,
      flavor,
      isBfv: false,
      availabilityZone: null,
      numInstances: 1,
      schedulerHints: {},
    };
    world.store.requests.saveSpec({ ...spec, imageRef: "5a000000-0000-4000-8000-000000000001" });
    const imageRef = world.image();
    const reply = await world.act(instance, { rebuild: { imageRef, name: "other", description: "new" } }, 19);
    expect(world.store.requests.spec(instanceUuid)?.imageRef).toBe(imageRef);
    expect(reply.json("server", "image", "id")).toBe(imageRef);
    expect(reply.json("server", "name")).toBe("other");
    expect(reply.json("server", "status")).toBe("REBUILD");
    expect(reply.json("server", "adminPass")).toEqual(expect.any(String));
    expect(world.casts[0]?.params).toMatchObject({ recreate: false, migrationId: null, node: "devstack1" });
  });

  test("the conductor first checks a rebuild from a new image with requirements", async () => {
    const instance = world.server("devstack1");
    const imageRef = world.image({ properties: { "trait:CUSTOM_FAST": "required" } });
    expect((await world.act(instance, { rebuild: { imageRef } })).status).toBe(202);
    expect(world.casts).toEqual([]);
    expect(world.tasks()).toMatchObject([{ kind: "rebuild_in_place", previousImageRef: instance.imageRef }]);
  });

  test("the response of a rebuild omits extension properties before 2.75", async () => {
    const getResponseKeys = async (version: number) => {
      const reply = await world.act(world.server("devstack1"), { rebuild: { imageRef: CIRROS } }, version);
      return Object.keys(reply.json("server") as object);
    };
    const extensions = ["config_drive", "OS-EXT-STS:vm_state", "OS-SRV-USG:launched_at", "OS-EXT-AZ:availability_zone"];
    expect(await getResponseKeys(1)).not.toEqual(expect.arrayContaining(["key_name"]));
    expect((await getResponseKeys(1)).filter((key) => extensions.includes(key))).toEqual([]);
    expect(await getResponseKeys(54)).toContain("key_name");
    expect(await getResponseKeys(56)).not.toContain("user_data");
    expect(await getResponseKeys(57)).toContain("user_data");
    const complete = await getResponseKeys(75);
    expect(complete).toEqual(expect.arrayContaining([...extensions, "OS-EXT-SRV-ATTR:hostname", "user_data"]));
    expect(complete, "it is `user_data` here, for every user").not.toContain("OS-EXT-SRV-ATTR:user_data");
  });

  test.each<[number, unknown, Partial<NewInstance>, number, string | null]>([
    [1, { anything: 1 }, { vmState: "shelved" }, 202, null],
    [77, null, {}, 202, null],
    [77, { availability_zone: "nova" }, {}, 202, null],
    [77, { availability_zone: "mars" }, {}, 400, null],
    [77, { availability_zone: "nova" }, { vmState: "shelved" }, 409, null],
    [77, { host: "devstack2" }, {}, 400, null],
    [91, { host: "devstack2" }, {}, 202, "devstack2"],
    [91, { availability_zone: null }, {}, 202, null],
    [91, { host: "nowhere" }, {}, 400, null],
    [91, {}, {}, 400, null],
  ])("2.%i unshelve %j of %j: %i", async (version, unshelve, changes, status, host) => {
    const instance = world.server(null, { vmState: "shelved_offloaded", ...changes });
    const reply = await world.act(instance, { unshelve }, version);
    expect(reply.status, reply.body).toBe(status);
    expect(world.tasks()).toMatchObject(status === 202 ? [{ kind: "unshelve_instance", host }] : []);
  });
});

describe("6.2 deletes", () => {
  const remove = (instance: Instance) => world.ask({ method: "DELETE", url: `/compute/v2.1/servers/${instance.uuid}` });

  test("a server that waits for confirmation is first confirmed on its source", async () => {
    const instance = world.server("devstack1", { vmState: "resized", flavor: { ...TINY, id: 1 } });
    const { id } = migrationOf(instance, "finished");
    expect((await remove(instance)).status).toBe(204);
    expect(world.stateOf(instance)).toEqual(["resized", "deleting"]);
    expect(world.tasks()).toMatchObject([{ kind: "delete_resized", migrationId: id }]);
    expect(world.casts).toEqual([]);
    expect((await remove(instance)).status).toBe(204);
    expect(world.tasks()).toHaveLength(1);
  });

  test("a server that can be restored is soft-deleted, unless it never ran or its host is down", async () => {
    world = await ApiWorld.open(3600);
    world.flavor();
    world.host("devstack1");
    const instance = world.server("devstack1");
    expect((await remove(instance)).status).toBe(204);
    expect(world.stateOf(instance)).toEqual(["active", "soft-deleting"]);
    expect(world.casts.map(({ method }) => method)).toEqual(["soft_delete_instance"]);
    expect(actionsOf(instance)).toEqual(["softDelete"]);
    await remove(instance);
    await remove(world.server("devstack1", { launchedAt: null }));
    expect(world.casts.map(({ method }) => method)).toEqual(["soft_delete_instance", "terminate_instance"]);
    world.fence("devstack1");
    await remove(world.server("devstack1"));
    expect(world.tasks()).toMatchObject([{ kind: "delete_local" }]);
  });

  test("forceDelete deletes at once in any state", async () => {
    const instance = world.server("devstack1", { vmState: "soft-delete", taskState: "restoring" });
    expect((await world.act(instance, { forceDelete: null })).status).toBe(202);
    expect(world.casts.map(({ method }) => method)).toEqual(["terminate_instance"]);
  });
});
