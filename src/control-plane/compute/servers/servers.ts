import { defined } from "../../../runtime/collections.js";
import { routes } from "../../http/router.js";
import { schemas } from "../../http/schemas.js";
import { type Call, type ComputeResponse, type ComputeRoute, requireMember, requireReader } from "../api/call.js";
import { bodyOf, DESCRIPTION, HOSTNAME, NAME, object, SHORT_HOSTNAME } from "../api/schema-parts.js";
import { runAction } from "./actions/run-action.js";
import { VOLUME_ATTACHMENT_ROUTES } from "./block-devices/volume-attachments.js";
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
import { attributeChanges, USER_ATTRIBUTES, type UserAttributes } from "./server-schemas.js";
import { ServerView, toViewBefore75 } from "./server-view.js";
import { TAG_ROUTES } from "./tags.js";

interface UpdateBody {
  readonly server: UserAttributes & {
    readonly name?: string;
    readonly description?: string | null;
    readonly hostname?: string;
  };
}

const BASE = { name: NAME, ...USER_ATTRIBUTES };

const v19 = { ...BASE, description: DESCRIPTION };

const UPDATE = schemas<UpdateBody>(
  [1, bodyOf("server", object(BASE))],
  [19, bodyOf("server", object(v19))],
  [90, bodyOf("server", object({ ...v19, hostname: SHORT_HOSTNAME }))],
  [94, bodyOf("server", object({ ...v19, hostname: HOSTNAME }))],
);

export const SERVER_ROUTES: readonly ComputeRoute[] = [
  ...routes<ComputeRoute>({
    "POST /servers": createServer,
    "GET /servers": (call) => listServers(false, call),
    "GET /servers/detail": (call) => listServers(true, call),
    "GET /servers/:id": (call) => {
      requireReader(call, "os_compute_api:servers:show");
      return { body: { server: new ServerView(call).detail(findServer(call)) } };
    },
    "GET /servers/:id/topology": {
      from: 78,
      handle: (call) => {
        findServer(call);
        requireReader(call, "compute:server:topology:index");
        // No host has a NUMA topology here, so a server has none. Administrators would see the host's part of it.
        return { body: { nodes: [], pagesize_kb: null } };
      },
    },
    "PUT /servers/:id": updateServer,
    "DELETE /servers/:id": deleteServer,
    "POST /servers/:id/action": runAction,
  }),
  ...INSTANCE_ACTION_ROUTES,
  ...METADATA_ROUTES,
  ...TAG_ROUTES,
  ...ADDRESS_ROUTES,
  ...INTERFACE_ROUTES,
  ...VOLUME_ATTACHMENT_ROUTES,
  ...DIAGNOSTICS_ROUTES,
  ...PASSWORD_ROUTES,
  ...REMOTE_CONSOLE_ROUTES,
];

/**
 * Handles PUT /servers/{id}: name, description, access addresses and, since 2.90, host name. Works for build requests
 * as well.
 */
function updateServer(call: Call): ComputeResponse {
  const { name, description, hostname, ...userAttributes } = call.body(UPDATE).server;
  requireMember(call, "os_compute_api:servers:update");
  const { instance: found, building } = findServer(call);
  const attributes = defined({ displayName: name, displayDescription: description, hostname });
  const changes = { ...attributes, ...attributeChanges(userAttributes) };
  const { instances, requests } = call.store;
  const instance = building ? requests.saveBuilding(found, changes) : instances.save(found.uuid, changes);
  const view = new ServerView(call).detail({ instance, building });
  return { body: { server: call.version >= 75 ? view : toViewBefore75(view) } };
}
