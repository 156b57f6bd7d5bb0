import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import {
  active,
  available,
  CONFIG_DRIVE,
  type ContractCase,
  claim,
  enrolled,
  get,
  patch,
  post,
  provision,
  put,
  remove,
  settled,
  until,
} from "./client.js";

function cannot(action: string, node: string, state: string) {
  return `The requested action "${action}" can not be performed on node "${node}" while it is in state "${state}".`;
}
function locked(node: string) {
  return `Node ${node} is locked by host localhost, please retry after the current operation is completed.`;
}

export const STATE_CASES: readonly ContractCase[] = [
  {
    name: "enroll, manageable, cleaning, available; each verb in its state only",
    run: async (client) => {
      const node = await enrolled(client);
      const states = `${node.path}/states/provision`;
      for (const target of ["provide", "active", "deleted", "rebuild", "bogus"]) {
        const { status, fault } = await put(client, states, { target });
        expect([status, fault]).toEqual([400, cannot(target, node.uuid, "enroll")]);
      }
      const none = await put(client, states, {});
      expect([none.status, none.fault]).toEqual([400, "Missing mandatory parameter: target"]);
      const accepted = await put(client, states, { target: "manage" });
      expect([accepted.status, accepted.headers.location]).toEqual([202, `${client.root}${node.path}/states`]);
      await until(client, node, settled("manageable"));
      await provision(client, node, { target: "provide" });
      expect((await get(client, `${node.path}/states`)).body).toMatchObject({
        provision_state: "cleaning",
        target_provision_state: "available",
      });
      const power = await put(client, `${node.path}/states/power`, { target: "power off" });
      expect([power.status, power.fault]).toEqual([400, cannot("power off", node.uuid, "cleaning")]);
      await until(client, node, settled("available"));
    },
  },
  {
    name: "manage and provide are 406 before 1.4",
    run: async (client) => {
      const node = await enrolled(client);
      expect((await put(client, `${node.path}/states/provision`, { target: "manage" }, "1.3")).status).toBe(406);
    },
  },
  {
    name: "a deploy goes from available over deploying to active, locked all the time",
    run: async (client) => {
      const node = await available(client);
      const instance = randomUUID();
      expect((await patch(client, node.path, claim(instance))).body.instance_uuid).toBe(instance);
      await patch(client, node.path, [{ op: "add", path: "/instance_info/image_source", value: randomUUID() }]);
      const valid = await get(client, `${node.path}/validate`);
      expect(valid.body).toMatchObject({
        deploy: { result: true },
        power: { result: true },
        storage: { result: true },
      });
      await provision(client, node, { target: "active", configdrive: CONFIG_DRIVE });
      const { body } = await get(client, node.path);
      expect(body).toMatchObject({
        provision_state: "deploying",
        target_provision_state: "active",
        reservation: "localhost",
        instance_uuid: instance,
      });
      const changed = await patch(client, node.path, [{ op: "add", path: "/extra/x", value: 1 }]);
      expect([changed.status, changed.fault]).toEqual([
        409,
        `Node ${node.uuid} can not be updated while a state transition is in progress.`,
      ]);
      const deleted = await put(client, `${node.path}/states/provision`, { target: "deleted" });
      expect([deleted.status, deleted.fault]).toEqual([409, locked(node.uuid)]);
      await until(client, node, settled("active"));
      // Written some time after the state has changed.
      expect((await get(client, node.path)).body).toMatchObject({ instance_info: { configdrive: "******" } });
      const again = await put(client, `${node.path}/states/provision`, { target: "active" });
      expect([again.status, again.fault]).toEqual([400, cannot("active", node.uuid, "active")]);
    },
  },
  {
    name: "a tear-down takes the instance off the node before it is cleaned",
    run: async (client) => {
      const node = await active(client);
      await provision(client, node, { target: "deleted" });
      const { body } = await get(client, node.path);
      expect(body).toMatchObject({
        provision_state: "deleting",
        target_provision_state: "available",
        instance_uuid: node.instance,
      });
      await until(client, node, { provision_state: "cleaning" });
      expect((await get(client, node.path)).body).toMatchObject({ instance_uuid: null, instance_info: {} });
      expect((await get(client, `/v1/nodes?instance_uuid=${node.instance}`)).body).toEqual({ nodes: [] });
      await until(client, node, settled("available"));
    },
  },
  {
    name: "a rebuild keeps the instance; a config drive needs 1.35",
    run: async (client) => {
      const node = await active(client);
      const body = { target: "rebuild", configdrive: CONFIG_DRIVE };
      const old = await put(client, `${node.path}/states/provision`, body, "1.34");
      expect([old.status, old.fault]).toEqual([
        400,
        "Adding a config drive is only supported when setting provision state to active",
      ]);
      await provision(client, node, body);
      expect((await get(client, `${node.path}/states`)).body).toMatchObject({ provision_state: "deploying" });
      await until(client, node, { ...settled("active"), instance_uuid: node.instance });
    },
  },
  {
    name: "rescue and unrescue",
    run: async (client) => {
      const node = await active(client);
      const without = await put(client, `${node.path}/states/provision`, { target: "rescue" });
      expect([without.status, without.fault]).toEqual([
        400,
        'A non-empty "rescue_password" is required when setting target provision state to rescue',
      ]);
      await provision(client, node, { target: "rescue", rescue_password: "secret" });
      await until(client, node, settled("rescue"));
      expect(JSON.stringify((await get(client, node.path)).body)).not.toContain("secret");
      await provision(client, node, { target: "unrescue" });
      await until(client, node, { ...settled("active"), instance_uuid: node.instance });
    },
  },
  {
    name: "power goes on and off, and shows where it goes",
    run: async (client) => {
      const node = await available(client);
      const path = `${node.path}/states/power`;
      for (const [target, power] of [
        ["power on", "power on"],
        ["rebooting", "power on"],
        ["soft rebooting", "power on"],
        ["soft power off", "power off"],
      ] as const) {
        const accepted = await put(client, path, { target });
        expect(accepted.status, accepted.fault).toBe(202);
        expect((await get(client, node.path)).body).toMatchObject({
          target_power_state: power,
          reservation: "localhost",
        });
        await until(client, node, { power_state: power, target_power_state: null, reservation: null });
      }
      const bogus = await put(client, path, { target: "bogus" });
      expect([bogus.status, bogus.fault]).toEqual([400, cannot("bogus", node.uuid, "power off")]);
      const timeout = await put(client, path, { target: "soft power off", timeout: 0 });
      expect([timeout.status, timeout.fault]).toEqual([400, "timeout has to be positive integer"]);
      expect((await put(client, path, { target: "soft power off" }, "1.26")).status).toBe(406);
    },
  },
  {
    name: "a node in maintenance is not deployed, and says why it is in maintenance",
    run: async (client) => {
      const node = await available(client);
      expect((await put(client, `${node.path}/maintenance`, { reason: "broken" })).status).toBe(202);
      expect((await get(client, node.path)).body).toMatchObject({ maintenance: true, maintenance_reason: "broken" });
      expect((await patch(client, node.path, claim(randomUUID()))).status).toBe(200);
      const { status, fault } = await put(client, `${node.path}/states/provision`, { target: "active" });
      expect([status, fault]).toEqual([
        400,
        `The provisioning operation can't be performed on node ${node.uuid} because it's in maintenance mode.`,
      ]);
      expect((await remove(client, `${node.path}/maintenance`)).status).toBe(202);
      expect((await get(client, node.path)).body).toMatchObject({ maintenance: false, maintenance_reason: null });
    },
  },
  {
    name: "a VIF is attached to a port, and detached",
    run: async (client) => {
      const node = await available(client);
      const id = randomUUID();
      expect((await post(client, `${node.path}/vifs`, { id })).status).toBe(204);
      expect((await remove(client, `${node.path}/vifs/${id}`)).status).toBe(204);
      expect((await get(client, `${node.path}/vifs`)).body).toEqual({ vifs: [] });
      const without = await post(client, `${node.path}/vifs`, {});
      expect([without.status, without.fault]).toEqual([400, "Schema error for vif: 'id' is a required property"]);
      expect((await get(client, `${node.path}/vifs`, "1.27")).status).toBe(404);
    },
  },
  {
    name: "an active node is not deleted",
    run: async (client) => {
      const node = await active(client);
      const { status, fault } = await remove(client, node.path);
      expect([status, fault]).toEqual([409, `Node ${node.uuid} is associated with instance ${node.instance}.`]);
    },
  },
  {
    name: "an active node keeps its resource class",
    run: async (client) => {
      const node = await active(client);
      const { status, fault } = await patch(client, node.path, [{ op: "add", path: "/resource_class", value: "gold" }]);
      expect([status, fault]).toEqual([
        409,
        `Node ${node.uuid} can not have resource_class updated unless it is in one of allowed ` +
          "(enroll, inspecting, inspect wait, manageable, available) states.",
      ]);
    },
  },
];
