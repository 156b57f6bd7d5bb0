import type { ComputeRoute } from "../api/call.js";
import { requireReader } from "../api/policy.js";
import { runAction } from "./actions/index.js";
import { ATTACHMENT_ROUTES } from "./attachments.js";
import { createServer } from "./create-server.js";
import { deleteServer } from "./delete-server.js";
import { DIAGNOSTICS_ROUTES } from "./diagnostics.js";
import { findServer } from "./find-server.js";
import { INSTANCE_ACTION_ROUTES } from "./instance-actions.js";
import { listServers } from "./list-servers.js";
import { METADATA_ROUTES } from "./metadata.js";
import { ADDRESS_ROUTES } from "./network/addresses.js";
import { INTERFACE_ROUTES } from "./network/interfaces.js";
import { PASSWORD_ROUTES } from "./password.js";
import { REMOTE_CONSOLE_ROUTES } from "./remote-consoles.js";
import { ServerView } from "./server-view.js";
import { TAG_ROUTES } from "./tags.js";
import { updateServer } from "./update-server.js";

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
      // No host here has a NUMA topology, and so has no server. Administrators would see the host's part of it.
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
