import type { ComputeRoute } from "../api/call.js";
import { requireReader } from "../api/policy.js";
import { findServer } from "./find-server.js";

/** Servers here have no volumes; clients ask all the same. */
export const ATTACHMENT_ROUTES: readonly ComputeRoute[] = [
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
