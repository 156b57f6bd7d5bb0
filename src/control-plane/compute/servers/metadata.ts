import { notFound } from "../../http/http-error.js";
import { requireMember, requireReader } from "../api/call.js";
import { metadataRoutes } from "../metadata-routes.js";
import { assertMetadataQuota } from "../quotas/quota-checks.js";
import { type AllowedStates, requireState } from "./actions/server-action.js";
import { assertNotLocked, findServer } from "./find-server.js";

const policy = (what: string): string => `os_compute_api:server-metadata:${what}`;

/** States in which metadata can be changed, even during an operation. */
const STATES: AllowedStates = { vm: ["active", "paused", "suspended", "stopped"], task: null };

export const METADATA_ROUTES = metadataRoutes({
  prefix: "/servers/:id/metadata",
  read: (call, rule) => {
    requireReader(call, policy(rule));
    return findServer(call).instance.metadata;
  },
  save: (call, rule, change) => {
    requireMember(call, policy(rule));
    return call.store.transaction(() => {
      const { instance } = findServer(call);
      const metadata = change(instance.metadata);
      assertNotLocked(call, instance);
      requireState(instance, rule === "delete" ? "delete metadata" : "update metadata", STATES);
      if (rule !== "delete") {
        assertMetadataQuota(call, metadata);
      }
      return call.store.instances.save(instance.uuid, { metadata }).metadata;
    });
  },
  missing: () => notFound("Metadata item was not found"),
});
