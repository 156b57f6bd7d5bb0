import { badRequest } from "../../api/fault.js";
import { requireAdmin } from "../../api/policy.js";
import { BOOLEAN, isTrue } from "../../api/schema-parts.js";
import { type Schema, schemas } from "../../api/validate.js";
import { findInstance, refuseLocked } from "../find-server.js";
import { begin } from "./agent-action.js";
import { requireState, type ServerAction } from "./server-action.js";

interface LiveBody {
  readonly "os-migrateLive": {
    readonly host: string | null;
    readonly block_migration: boolean | string;
    /** Before 2.25. */
    readonly disk_over_commit?: boolean | string;
    /** 2.30 to 2.67. */
    readonly force?: boolean | string;
  };
}

const HOST = { type: ["string", "null"], minLength: 1, maxLength: 255, pattern: "^[a-zA-Z0-9-._]*$" };
const BLOCK = { type: ["boolean", "string"], enum: [...BOOLEAN.enum, "auto"] };

function schema(properties: Readonly<Record<string, Schema>>, required: readonly string[]): Schema {
  return {
    type: "object",
    properties: { "os-migrateLive": { type: "object", properties, required, additionalProperties: false } },
    required: ["os-migrateLive"],
    additionalProperties: false,
  };
}

const SINCE_25 = { host: HOST, block_migration: BLOCK };
const SCHEMA = schemas<LiveBody>(
  [
    1,
    schema({ host: HOST, block_migration: BOOLEAN, disk_over_commit: BOOLEAN }, [
      "block_migration",
      "disk_over_commit",
      "host",
    ]),
  ],
  [25, schema(SINCE_25, ["block_migration", "host"])],
  [30, schema({ ...SINCE_25, force: BOOLEAN }, ["block_migration", "host"])],
  [68, schema(SINCE_25, ["block_migration", "host"])],
);

/** Spec 6.5 row 1. */
export const liveMigrate: ServerAction = {
  name: "os-migrateLive",
  schema: SCHEMA,
  run: (deps, call) => {
    const wanted = call.body(SCHEMA)["os-migrateLive"];
    const { store } = deps;
    const instance = findInstance(deps, call);
    requireAdmin(call, "os_compute_api:os-migrate-server:migrate_live");
    const { host } = wanted;
    if (isTrue(wanted.force) && host === null) {
      throw badRequest("Can't force to a non-provided destination");
    }
    refuseLocked(call, instance);
    requireState(instance, "os-migrateLive", { vm: ["active", "paused"] });
    if (host !== null && store.computeNodes.byHost(host).length === 0) {
      throw badRequest(`Compute host ${host} could not be found.`);
    }
    begin(deps, call, instance, { taskState: "migrating" }, "live-migration");
    store.tasks.add({
      kind: "live_migrate_instance",
      instanceUuid: instance.uuid,
      requestId: call.requestId,
      host,
      forced: host !== null && (call.version < 30 || isTrue(wanted.force)),
      blockMigration: wanted.block_migration === "auto" ? null : isTrue(wanted.block_migration),
      diskOverCommit: isTrue(wanted.disk_over_commit ?? false),
    });
    return { status: 202 };
  },
};
