import type { Call, ComputeRoute } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { requireReader } from "../api/policy.js";
import { runAction } from "./actions/index.js";
import { attachmentRoutes } from "./attachments.js";
import { createServer } from "./create-server.js";
import { deleteServer } from "./delete-server.js";
import { findServer } from "./find-server.js";
import { instanceActionRoutes } from "./instance-actions.js";
import { listServers } from "./list-servers.js";
import { metadataRoutes } from "./metadata.js";
import { ServerView } from "./server-view.js";
import { tagRoutes } from "./tags.js";
import { updateServer } from "./update-server.js";

export const serverRoutes = (deps: ComputeDeps): readonly ComputeRoute[] => [
  { method: "POST", path: "/servers", answer: createServer(deps) },
  { method: "GET", path: "/servers", answer: listServers(deps, false) },
  { method: "GET", path: "/servers/detail", answer: listServers(deps, true) },
  {
    method: "GET",
    path: "/servers/:id",
    answer: (call: Call) => {
      requireReader(call, "os_compute_api:servers:show");
      return { body: { server: new ServerView(deps, call).detail(findServer(deps, call)) } };
    },
  },
  { method: "PUT", path: "/servers/:id", answer: updateServer(deps) },
  { method: "DELETE", path: "/servers/:id", answer: deleteServer(deps) },
  { method: "POST", path: "/servers/:id/action", answer: runAction(deps) },
  ...instanceActionRoutes(deps),
  ...metadataRoutes(deps),
  ...tagRoutes(deps),
  ...attachmentRoutes(deps),
];
