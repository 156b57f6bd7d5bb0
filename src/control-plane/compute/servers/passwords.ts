import { isConductorError } from "../../../conductor-client/errors.js";
import { HttpError } from "../../http/http-error.js";
import { schemas } from "../../http/schemas.js";
import { askAgent } from "../api/agents.js";
import { type Call, type ComputeRoute, requireMember, requireReader } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { ADMIN_PASSWORD } from "../api/schema-parts.js";
import { begin, requireHost, requireState, type ServerAction } from "./actions/server-action.js";
import { assertNotLocked, findInstance, findServer } from "./find-server.js";

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

/**
 * Changes the guest's password (spec 6.6). As in Nova, the client waits until the guest has it. The password is not
 * stored.
 */
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
      throw error instanceof HttpError && error.status === 501
        ? new HttpError(501, "Unable to set password on instance")
        : error;
    } finally {
      // The agent may not have received the message, or not have ended the task.
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
    if (!isConductorError(error, "UnexpectedTaskState", "InstanceNotFound")) {
      throw error;
    }
  }
}

/**
 * Ends the password tasks of a previous run of the control plane: their messages are not saved, and no client waits for
 * them.
 */
export function endPasswordTasks({ store }: Pick<ComputeDeps, "store">): void {
  for (const { uuid } of store.instances.list({ taskStates: ["updating_password"] })) {
    store.instances.save(uuid, { taskState: null }, { expectedTaskState: ["updating_password"] });
  }
}

const PATH = "/servers/:id/os-server-password";

const policy = (what: string): string => `os_compute_api:os-server-password:${what}`;

/** System metadata in which a guest stores its password, encrypted with the server's key pair and split into pieces. */
const PIECES = ["password_0", "password_1", "password_2", "password_3"];

export const PASSWORD_ROUTES: readonly ComputeRoute[] = [
  {
    method: "GET",
    path: PATH,
    handle: (deps, call) => {
      const { systemMetadata } = findServer(deps, call).instance;
      requireReader(call, policy("show"));
      return { body: { password: PIECES.map((piece) => systemMetadata[piece] ?? "").join("") } };
    },
  },
  {
    method: "DELETE",
    path: PATH,
    handle: (deps, call) => {
      clear(deps, call);
      return { status: 204 };
    },
  },
];

/** Removes the stored password. The password in the guest does not change. */
function clear({ store }: ComputeDeps, call: Call): void {
  store.transaction(() => {
    const { instance, building } = findServer({ store }, call);
    requireMember(call, policy("clear"));
    const { uuid, systemMetadata } = instance;
    if (!building && PIECES.some((piece) => piece in systemMetadata)) {
      const rest = Object.entries(systemMetadata).filter(([name]) => !PIECES.includes(name));
      store.instances.save(uuid, { systemMetadata: Object.fromEntries(rest) });
    }
  });
}
