import { badRequest } from "../../api/fault.js";
import { requireAdmin } from "../../api/policy.js";
import { HOSTNAME } from "../../api/schema-parts.js";
import { type Schema, schemas } from "../../api/validate.js";
import { assertNotLocked, findInstance } from "../find-server.js";
import { begin } from "./agent-action.js";
import { requireAgent, requireState, type ServerAction } from "./server-action.js";

interface MigrateBody {
  /** Anything before 2.56, and meaning nothing. */
  readonly migrate: { readonly host?: string | null } | null;
}

function schema(migrate: Schema): Schema {
  return {
    type: "object",
    properties: { migrate },
    required: ["migrate"],
    additionalProperties: false,
  };
}

const SCHEMA = schemas<MigrateBody>(
  [1, schema({})],
  [
    56,
    schema({
      type: ["object", "null"],
      properties: { host: { ...HOSTNAME, type: ["string", "null"] } },
      additionalProperties: false,
    }),
  ],
);

/** A cold migration: spec 6.3 row 1. */
export const migrate: ServerAction = {
  name: "migrate",
  schema: SCHEMA,
  run: (deps, call) => {
    const body = call.body(SCHEMA);
    const host = (call.version >= 56 ? body.migrate?.host : undefined) ?? null;
    const { store } = deps;
    const instance = findInstance(deps, call);
    requireAdmin(
      call,
      host === null ? "os_compute_api:os-migrate-server:migrate" : "os_compute_api:os-migrate-server:migrate:host",
    );
    assertNotLocked(call, instance);
    requireState(instance, "migrate", { vm: ["active", "stopped"] });
    const source = requireAgent(deps, instance);
    if (host === source) {
      throw badRequest("Cannot migrate to the host where the server exists.");
    }
    if (host !== null && store.computeNodes.byHost(host).length === 0) {
      throw badRequest(`Compute host ${host} could not be found.`);
    }
    begin(deps, call, instance, { taskState: "resize_prep", progress: 0 }, "migrate");
    store.tasks.add({
      kind: "migrate_server",
      instanceUuid: instance.uuid,
      requestId: call.requestId,
      flavor: instance.flavor,
      host,
    });
    return { status: 202 };
  },
};
