import { beforeEach, describe, expect, test } from "vitest";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import { createComputeApi } from "../../../../src/control-plane/compute/compute-api.js";
import type { Instance } from "../../../../src/records/index.js";
import { ApiWorld } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;
let instance: Instance;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
  instance = world.server("devstack1");
  world.agentReplies.set_admin_password = null;
});

const change = (adminPass: unknown = "secret", of = instance) => world.act(of, { changePassword: { adminPass } });
const taskOf = ({ uuid }: Instance) => world.store.instances.get(uuid)?.taskState;

describe("6.6 changePassword", () => {
  test("waits for the host and leaves the server's state unchanged", async () => {
    let during: unknown;
    Object.defineProperty(world.agentReplies, "set_admin_password", {
      get: () => {
        during = taskOf(instance);
        return {};
      },
    });
    expect((await change()).status).toBe(202);
    expect(during).toBe("updating_password");
    expect(taskOf(instance)).toBeNull();
    const params = { instanceUuid: instance.uuid, newPass: "secret", requestId: expect.any(String) };
    expect(world.calls).toEqual([{ host: "devstack1", method: "set_admin_password", params }]);
    expect(world.store.actions.list(instance.uuid).map(({ action }) => action)).toEqual(["changePassword"]);
  });

  test.each<[Error, number, string]>([
    [new ConductorError("NotImplementedError", "driver has none"), 501, "Unable to set password on instance"],
    [
      new ConductorError("InstanceAgentNotEnabled", "QEMU guest agent is not enabled"),
      409,
      "QEMU guest agent is not enabled",
    ],
    [
      new ConductorError("InstancePasswordSetFailed", "Failed to set admin password"),
      409,
      "Failed to set admin password",
    ],
    [new ConductorError("UnexpectedTaskState", "it has moved"), 409, "it has moved"],
  ])("%o is %i", async (error, status, message) => {
    world.agentReplies.set_admin_password = error;
    const reply = await change();
    expect([reply.status, reply.message, taskOf(instance)]).toEqual([status, message, null]);
  });

  test("is rejected with 409 if no agent replies, and clears the task state", async () => {
    world.agentResponds = false;
    const reply = await change();
    expect([reply.status, taskOf(instance)]).toEqual([409, null]);
  });

  test("does not clear the task state of a concurrent delete", async () => {
    Object.defineProperty(world.agentReplies, "set_admin_password", {
      get: () => {
        world.store.instances.save(instance.uuid, { taskState: "deleting", taskRequestId: "req-delete" });
        return new ConductorError("UnexpectedTaskState", "being deleted");
      },
    });
    expect((await change()).status).toBe(409);
    expect(taskOf(instance)).toBe("deleting");
  });

  test("is rejected for a server that is not running, locked or busy, and without a password", async () => {
    const stopped = world.server("devstack1", { vmState: "stopped" });
    expect((await change("secret", stopped)).message).toBe(
      `Cannot 'changePassword' instance ${stopped.uuid} while it is in vm_state stopped`,
    );
    expect((await change("secret", world.server("devstack1", { taskState: "pausing" }))).status).toBe(409);
    expect((await change(7)).status).toBe(400);
    expect((await world.act(instance, { changePassword: {} })).status).toBe(400);
    expect(world.calls).toEqual([]);
  });

  test("is ended by the next start of the control plane", async () => {
    world.store.instances.save(instance.uuid, { taskState: "updating_password", taskRequestId: "req-gone" });
    createComputeApi({ store: world.store } as never);
    expect(taskOf(instance)).toBeNull();
  });
});
