import { type Schema, schemas } from "../../http/schemas.js";
import { type Call, type ComputeResponse, type ComputeRoute, requireMember, requireReader } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { DESCRIPTION, HOSTNAME, NAME, SHORT_HOSTNAME } from "../api/schema-parts.js";
import { runAction } from "./actions/run-action.js";
import { createServer } from "./create-server.js";
import { deleteServer } from "./delete-server.js";
import { DIAGNOSTICS_ROUTES } from "./diagnostics.js";
import { findServer } from "./find-server.js";
import { INSTANCE_ACTION_ROUTES } from "./instance-actions.js";
import { listServers } from "./list-servers.js";
import { METADATA_ROUTES } from "./metadata.js";
import { ADDRESS_ROUTES } from "./network/addresses.js";
import { INTERFACE_ROUTES } from "./network/interfaces.js";
import { PASSWORD_ROUTES } from "./passwords.js";
import { REMOTE_CONSOLE_ROUTES } from "./remote-consoles.js";
import { instanceChangesOf, USER_ATTRIBUTES, type UserAttributes } from "./server-schemas.js";
import { ServerView, toViewBefore75 } from "./server-view.js";
import { TAG_ROUTES } from "./tags.js";

/** Servers have no volumes here, but clients request the list. */
const ATTACHMENT_ROUTES: readonly ComputeRoute[] = [
  {
    method: "GET",
    path: "/servers/:id/os-volume_attachments",
    handle: (deps, call) => {
      findServer(deps, call);
      requireReader(call, "os_compute_api:os-volumes-attachments:index");
      return { body: { volumeAttachments: [] } };
    },
  },
];

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

const v19 = { ...BASE, description: DESCRIPTION };

const UPDATE = schemas<UpdateBody>(
  [1, body(BASE)],
  [19, body(v19)],
  [90, body({ ...v19, hostname: SHORT_HOSTNAME })],
  [94, body({ ...v19, hostname: HOSTNAME })],
);

export const SERVER_ROUTES: readonly ComputeRoute[] = [
  { method: "POST", path: "/servers", handle: createServer },
  { method: "GET", path: "/servers", handle: (deps, call) => listServers(deps, false, call) },
  { method: "GET", path: "/servers/detail", handle: (deps, call) => listServers(deps, true, call) },
  {
    method: "GET",
    path: "/servers/:id",
    handle: (deps, call) => {
      requireReader(call, "os_compute_api:servers:show");
      return { body: { server: new ServerView(deps, call).detail(findServer(deps, call)) } };
    },
  },
  {
    method: "GET",
    path: "/servers/:id/topology",
    from: 78,
    handle: (deps, call) => {
      findServer(deps, call);
      requireReader(call, "compute:server:topology:index");
      // No host has a NUMA topology here, so a server has none. Administrators would see the host's part of it.
      return { body: { nodes: [], pagesize_kb: null } };
    },
  },
  { method: "PUT", path: "/servers/:id", handle: updateServer },
  { method: "DELETE", path: "/servers/:id", handle: deleteServer },
  { method: "POST", path: "/servers/:id/action", handle: runAction },
  ...INSTANCE_ACTION_ROUTES,
  ...METADATA_ROUTES,
  ...TAG_ROUTES,
  ...ADDRESS_ROUTES,
  ...INTERFACE_ROUTES,
  ...ATTACHMENT_ROUTES,
  ...DIAGNOSTICS_ROUTES,
  ...PASSWORD_ROUTES,
  ...REMOTE_CONSOLE_ROUTES,
];

function body(properties: Readonly<Record<string, Schema>>): Schema {
  return {
    type: "object",
    properties: { server: { type: "object", properties, additionalProperties: false } },
    required: ["server"],
    additionalProperties: false,
  };
}

/**
 * Handles PUT /servers/{id}: name, description, access addresses and, since 2.90, host name. Works for build requests
 * as well.
 */
function updateServer(deps: ComputeDeps, call: Call): ComputeResponse {
  const { name, description, hostname, ...userAttributes } = call.body(UPDATE).server;
  requireMember(call, "os_compute_api:servers:update");
  const { instance: found, building } = findServer(deps, call);
  const changes = {
    ...(name === undefined ? {} : { displayName: name }),
    ...(description === undefined ? {} : { displayDescription: description }),
    ...(hostname === undefined ? {} : { hostname }),
    ...instanceChangesOf(userAttributes),
  };
  const { instances, requests } = deps.store;
  const instance = building ? requests.saveBuilding(found, changes) : instances.save(found.uuid, changes);
  const view = new ServerView(deps, call).detail({ instance, building });
  return { body: { server: call.version >= 75 ? view : toViewBefore75(view) } };
}
