import type { Instance } from "../../../records/index.js";
import { badRequest, notFound } from "../../http/http-error.js";
import { schemas } from "../../http/schemas.js";
import { type Call, type ComputeRoute, requireMember, requireReader } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { METADATA } from "../api/schema-parts.js";
import { assertMetadataQuota } from "../quotas/quota-checks.js";
import { type AllowedStates, requireState } from "./actions/server-action.js";
import { assertNotLocked, findServer } from "./find-server.js";

type Metadata = Readonly<Record<string, string>>;

const ALL = schemas<{ readonly metadata: Metadata }>([
  1,
  { type: "object", properties: { metadata: METADATA }, required: ["metadata"], additionalProperties: false },
]);
const ONE = schemas<{ readonly meta: Metadata }>([
  1,
  {
    type: "object",
    properties: { meta: { ...METADATA, minProperties: 1, maxProperties: 1 } },
    required: ["meta"],
    additionalProperties: false,
  },
]);

const policy = (what: string): string => `os_compute_api:server-metadata:${what}`;

/** States in which metadata can be changed, even during an operation. */
const STATES: AllowedStates = { vm: ["active", "paused", "suspended", "stopped"], task: null };

function replace(deps: ComputeDeps, call: Call, rule: string, change: (instance: Instance) => Metadata): Metadata {
  requireMember(call, policy(rule));
  return deps.store.transaction(() => {
    const { instance } = findServer(deps, call);
    const metadata = change(instance);
    assertNotLocked(call, instance);
    requireState(instance, rule === "delete" ? "delete metadata" : "update metadata", STATES);
    if (rule !== "delete") {
      assertMetadataQuota(deps, call, metadata);
    }
    return deps.store.instances.save(instance.uuid, { metadata }).metadata;
  });
}

export const METADATA_ROUTES: readonly ComputeRoute[] = [
  {
    method: "GET",
    path: "/servers/:id/metadata",
    handle: (deps, call) => {
      requireReader(call, policy("index"));
      return { body: { metadata: findServer(deps, call).instance.metadata } };
    },
  },
  {
    method: "POST",
    path: "/servers/:id/metadata",
    handle: (deps, call) => {
      const { metadata: added } = call.body(ALL);
      return { body: { metadata: replace(deps, call, "create", ({ metadata }) => ({ ...metadata, ...added })) } };
    },
  },
  {
    method: "PUT",
    path: "/servers/:id/metadata",
    handle: (deps, call) => {
      const { metadata: requestedMetadata } = call.body(ALL);
      return { body: { metadata: replace(deps, call, "update_all", () => requestedMetadata) } };
    },
  },
  {
    method: "GET",
    path: "/servers/:id/metadata/:key",
    handle: (deps, call) => {
      requireReader(call, policy("show"));
      return { body: { meta: itemOf(findServer(deps, call).instance, call.param("key")) } };
    },
  },
  {
    method: "PUT",
    path: "/servers/:id/metadata/:key",
    handle: (deps, call) => {
      const { meta } = call.body(ONE);
      if (!Object.hasOwn(meta, call.param("key"))) {
        throw badRequest("Request body and URI mismatch");
      }
      replace(deps, call, "update", ({ metadata }) => ({ ...metadata, ...meta }));
      return { body: { meta } };
    },
  },
  {
    method: "DELETE",
    path: "/servers/:id/metadata/:key",
    handle: (deps, call) => {
      const key = call.param("key");
      replace(deps, call, "delete", (instance) => {
        itemOf(instance, key);
        return Object.fromEntries(Object.entries(instance.metadata).filter(([name]) => name !== key));
      });
      return { status: 204 };
    },
  },
];

function itemOf({ metadata }: Instance, key: string): Metadata {
  const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined;
  if (value === undefined) {
    throw notFound("Metadata item was not found");
  }
  return { [key]: value };
}
