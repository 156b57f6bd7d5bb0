import { InstanceNotFound, UnexpectedTaskState } from "../../../../conductor-client/errors.js";
import { askAgent } from "../../api/ask-agent.js";
import type { ComputeDeps } from "../../api/deps.js";
import { Fault } from "../../api/fault.js";
import { requireMember } from "../../api/policy.js";
import { ADMIN_PASSWORD } from "../../api/schema-parts.js";
import { schemas } from "../../api/validate.js";
import { assertNotLocked, findInstance } from "../find-server.js";
import { begin } from "./agent-action.js";
import { requireHost, requireState, type ServerAction } from "./server-action.js";

interface ChangePasswordBody {
  readonly changePassword: { readonly adminPass: string };
}

const SCHEMA = schemas<ChangePasswordBody>([
  1,
  {
    type: "object",
    properties: {
      changePassword: {
        type: "object",
        properties: { adminPass: ADMIN_PASSWORD },
        required: ["adminPass"],
        additionalProperties: false,
      },
    },
    required: ["changePassword"],
    additionalProperties: false,
  },
]);

/** Spec 6.6: the client waits until the guest has it, as with Nova. Nothing keeps the password. */
export const changePassword: ServerAction = {
  name: "changePassword",
  schema: SCHEMA,
  ask: async (deps, call) => {
    const { adminPass: newPass } = call.body(SCHEMA).changePassword;
    const { requestId } = call;
    const { uuid, host } = deps.store.transaction(() => {
      const instance = findInstance(deps, call);
      requireMember(call, "os_compute_api:os-admin-password");
      assertNotLocked(call, instance);
      requireState(instance, "changePassword", { vm: ["active"] });
      const host = requireHost(instance);
      begin(deps, call, instance, { taskState: "updating_password" }, "changePassword");
      return { uuid: instance.uuid, host };
    });
    try {
      const params = { instanceUuid: uuid, requestId, newPass };
      await askAgent(deps, call, host, "set_admin_password", params, "changePassword");
    } catch (error) {
      throw error instanceof Fault && error.status === 501
        ? new Fault(501, "Unable to set password on instance")
        : error;
    } finally {
      // No agent may have heard of it, or have ended it.
      endTask(deps, uuid, requestId);
    }
    return { status: 202 };
  },
};

function endTask({ store }: Pick<ComputeDeps, "store">, uuid: string, requestId: string): void {
  const ours = { expectedTaskState: ["updating_password"], ofRequest: requestId } as const;
  try {
    store.instances.save(uuid, { taskState: null }, ours);
  } catch (error) {
    if (!(error instanceof UnexpectedTaskState || error instanceof InstanceNotFound)) {
      throw error;
    }
  }
}

/** What a control plane that ended has left: nobody waits for these any more, and no message of them is kept. */
export function endPasswordTasks({ store }: Pick<ComputeDeps, "store">): void {
  for (const { uuid } of store.instances.list({ taskStates: ["updating_password"] })) {
    store.instances.save(uuid, { taskState: null }, { expectedTaskState: ["updating_password"] });
  }
}
