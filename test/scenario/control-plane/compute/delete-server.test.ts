import { beforeEach, describe, expect, test } from "vitest";
import { ApiWorld, CIRROS } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
  world.host("devstack2");
});

const tasks = () => world.store.tasks.pending().map(({ task }) => task);

describe("delete", () => {
  const remove = (uuid: string, token?: string) =>
    world.ask({ method: "DELETE", url: `/compute/v2.1/servers/${uuid}`, token });
  const down = (host: string) => {
    const service = world.store.services.getByHost(host, "nova-compute");
    world.store.services.update(service?.id ?? 0, { forcedDown: true });
  };

  test("6.2 host up: task_state deleting, and a message to the agent", async () => {
    const { uuid } = world.server("devstack1");
    const reply = await remove(uuid);
    expect(reply.status).toBe(204);
    expect(world.store.instances.get(uuid)?.taskState).toBe("deleting");
    const requestId = reply.headers["x-compute-request-id"];
    expect(world.casts).toEqual([
      { host: "devstack1", method: "terminate_instance", params: { instanceUuid: uuid, requestId } },
    ]);
    expect(world.store.actions.list(uuid)[0]).toMatchObject({ action: "delete", requestId });
    expect(world.store.mappings.instance(uuid)?.queuedForDelete).toBe(true);
  });

  test("6.2 already deleting, host up: the request is ignored", async () => {
    const { uuid } = world.server("devstack1", { taskState: "deleting" });
    expect((await remove(uuid)).status).toBe(204);
    expect(world.casts).toEqual([]);
  });

  test("6.2 host down: one local delete", async () => {
    const { uuid } = world.server("devstack1");
    down("devstack1");
    expect((await remove(uuid)).status).toBe(204);
    expect((await remove(uuid)).status).toBe(204);
    expect(tasks()).toMatchObject([{ kind: "delete_local", instanceUuid: uuid }]);
    expect(world.casts).toEqual([]);
  });

  test("6.2 already deleting and the host goes down: local delete", async () => {
    const { uuid } = world.server("devstack1");
    await remove(uuid);
    down("devstack1");
    await remove(uuid);
    expect(tasks()).toMatchObject([{ kind: "delete_local", instanceUuid: uuid }]);
  });

  test("6.2 service row missing: local delete", async () => {
    const { uuid } = world.server("devstack1");
    world.store.database.run("UPDATE services SET deleted = id WHERE host = 'devstack1'");
    await remove(uuid);
    expect(tasks()).toMatchObject([{ kind: "delete_local", instanceUuid: uuid }]);
  });

  test("6.2 no host: local delete", async () => {
    const { uuid } = world.server(null, { vmState: "error" });
    await remove(uuid);
    expect(tasks()).toMatchObject([{ kind: "delete_local", instanceUuid: uuid }]);
  });

  test("6.2 only a build request: it is deleted", async () => {
    const server = { name: "vm1", flavorRef: "1", imageRef: CIRROS, networks: "none" };
    const url = "/compute/v2.1/servers";
    const created = await world.ask({ method: "POST", url, version: 37, body: { server } });
    const uuid = String(created.json("server", "id"));
    expect((await remove(uuid)).status).toBe(204);
    expect(world.store.requests.buildRequest(uuid)).toBeNull();
    expect(world.store.mappings.instance(uuid)?.queuedForDelete).toBe(true);
    expect((await remove(uuid)).status).toBe(404);
  });

  test("only administrators may delete a locked server", async () => {
    const projectId = world.projectId("demo");
    const { uuid } = world.server("devstack1", { projectId, locked: true });
    const reply = await remove(uuid, await world.token("demo"));
    expect([reply.status, reply.message]).toEqual([409, `Instance ${uuid} is locked`]);
    expect((await remove(uuid)).status).toBe(204);
  });
});
