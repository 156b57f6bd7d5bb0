import type { ComputeRoute } from "../api/call.js";
import { requireReader } from "../api/policy.js";
import { findServer } from "./find-server.js";

/** Servers here have neither networks nor volumes; clients ask all the same. */
export const ATTACHMENT_ROUTES: readonly ComputeRoute[] = (
  [
    ["ips", "addresses", {}],
    ["os-interface", "interfaceAttachments", []],
    ["os-volume_attachments", "volumeAttachments", []],
    ["os-security-groups", "security_groups", []],
  ] as const
).map(([path, member, nothing]) => ({
  method: "GET",
  path: `/servers/:id/${path}`,
  answer: (deps, call) => {
    findServer(deps, call);
    requireReader(call, `os_compute_api:${path}:list`);
    return { body: { [member]: nothing } };
  },
}));
