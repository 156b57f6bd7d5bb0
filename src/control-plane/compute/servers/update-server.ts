import type { Call, ComputeResponse } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { requireMember } from "../api/policy.js";
import { DESCRIPTION, HOSTNAME, NAME, SHORT_HOSTNAME } from "../api/schema-parts.js";
import { type Schema, schemas } from "../api/validate.js";
import { findServer } from "./find-server.js";
import { toViewBefore75 } from "./rendered-before-75.js";
import { ServerView } from "./server-view.js";
import { USER_ATTRIBUTES, type UserAttributes, wishedChanges } from "./user-requests.js";

interface UpdateBody {
  readonly server: UserAttributes & {
    readonly name?: string;
    readonly description?: string | null;
    readonly hostname?: string;
  };
}

const BASE: Readonly<Record<string, Schema>> = {
  name: NAME,
  ...USER_ATTRIBUTES,
};

function body(properties: Readonly<Record<string, Schema>>): Schema {
  return {
    type: "object",
    properties: { server: { type: "object", properties, additionalProperties: false } },
    required: ["server"],
    additionalProperties: false,
  };
}

const v19 = { ...BASE, description: DESCRIPTION };
const UPDATE = schemas<UpdateBody>(
  [1, body(BASE)],
  [19, body(v19)],
  [90, body({ ...v19, hostname: SHORT_HOSTNAME })],
  [94, body({ ...v19, hostname: HOSTNAME })],
);

/** PUT /servers/{id}: a name, a description, addresses, and since 2.90 the guest's host name; of one that is only asked for, too. */
export function updateServer(deps: ComputeDeps, call: Call): ComputeResponse {
  const { name, description, hostname, ...userAttributes } = call.body(UPDATE).server;
  requireMember(call, "os_compute_api:servers:update");
  const { instance: found, building } = findServer(deps, call);
  const changes = {
    ...(name === undefined ? {} : { displayName: name }),
    ...(description === undefined ? {} : { displayDescription: description }),
    ...(hostname === undefined ? {} : { hostname }),
    ...wishedChanges(userAttributes),
  };
  const { instances, requests } = deps.store;
  const instance = building ? requests.saveBuilding(found, changes) : instances.save(found.uuid, changes);
  const view = new ServerView(deps, call).detail({ instance, building });
  return { body: { server: call.version >= 75 ? view : toViewBefore75(view) } };
}
