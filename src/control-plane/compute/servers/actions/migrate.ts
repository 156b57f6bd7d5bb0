import { messageOf } from "../../../../runtime/error-messages.js";
import { InstanceInvalidState, isUnsuitableHost } from "../../../conductor/tasks/faults.js";
import { badRequest, conflict } from "../../../http/http-error.js";
import { type Schema, schemas } from "../../../http/schemas.js";
import type { StoredTask } from "../../../store/tasks.js";
import { type Call, type ComputeResponse, requireAdmin } from "../../api/call.js";
import type { ComputeDeps } from "../../api/deps.js";
import { BOOLEAN, HOSTNAME, isTrue } from "../../api/schema-parts.js";
import { assertNotLocked, findInstance } from "../find-server.js";
import { begin, requireAgent, requireState, type ServerAction } from "./server-action.js";

interface MigrateBody {
  /** Ignored before 2.56. */
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

const MIGRATE = schemas<MigrateBody>(
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

/** Cold-migrates a server (spec 6.3 row 1). */
export const migrate: ServerAction = {
  name: "migrate",
  schema: MIGRATE,
  run: (deps, call) => {
    const body = call.body(MIGRATE);
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

interface LiveBody {
  readonly "os-migrateLive": {
    readonly host: string | null;
    readonly block_migration: boolean | string;
    /** Only before 2.25. */
    readonly disk_over_commit?: boolean | string;
    /** Only from 2.30 to 2.67. */
    readonly force?: boolean | string;
  };
}

const HOST = { type: ["string", "null"], minLength: 1, maxLength: 255, pattern: "^[a-zA-Z0-9-._]*$" };

const BLOCK = { type: ["boolean", "string"], enum: [...BOOLEAN.enum, "auto"] };

function liveMigrateSchema(properties: Readonly<Record<string, Schema>>, required: readonly string[]): Schema {
  return {
    type: "object",
    properties: { "os-migrateLive": { type: "object", properties, required, additionalProperties: false } },
    required: ["os-migrateLive"],
    additionalProperties: false,
  };
}

const SINCE_25 = { host: HOST, block_migration: BLOCK };

const LIVE_MIGRATE = schemas<LiveBody>(
  [
    1,
    liveMigrateSchema({ host: HOST, block_migration: BOOLEAN, disk_over_commit: BOOLEAN }, [
      "block_migration",
      "disk_over_commit",
      "host",
    ]),
  ],
  [25, liveMigrateSchema(SINCE_25, ["block_migration", "host"])],
  [30, liveMigrateSchema({ ...SINCE_25, force: BOOLEAN }, ["block_migration", "host"])],
  [68, liveMigrateSchema(SINCE_25, ["block_migration", "host"])],
);

/** First microversion that responds before the pre-checks. */
const FIRST_ASYNCHRONOUS = 34;

/**
 * Live-migrates a server (spec 6.5 row 1). Before 2.34 the client waits until the conductor has chosen a destination or
 * failed. The task is stored first, so that it also completes if the client disconnects or the control plane is killed.
 */
export const liveMigrate: ServerAction = {
  name: "os-migrateLive",
  schema: LIVE_MIGRATE,
  ask: (deps, call) => {
    const task = deps.store.transaction(() => storeTask(deps, call));
    const ended = call.version < FIRST_ASYNCHRONOUS ? deps.taskEnded(task.id) : undefined;
    deps.wake();
    return ended?.then((failure) => toResponse(task, failure)) ?? ACCEPTED;
  },
};

const ACCEPTED = { status: 202 } as const;

function storeTask(deps: ComputeDeps, call: Call): StoredTask {
  const { store } = deps;
  const requested = call.body(LIVE_MIGRATE)["os-migrateLive"];
  const instance = findInstance(deps, call);
  requireAdmin(call, "os_compute_api:os-migrate-server:migrate_live");
  const { host } = requested;
  if (isTrue(requested.force) && host === null) {
    throw badRequest("Can't force to a non-provided destination");
  }
  assertNotLocked(call, instance);
  requireState(instance, "os-migrateLive", { vm: ["active", "paused"] });
  if (host !== null && store.computeNodes.byHost(host).length === 0) {
    throw badRequest(`Compute host ${host} could not be found.`);
  }
  begin(deps, call, instance, { taskState: "migrating" }, "live-migration");
  return store.tasks.add({
    kind: "live_migrate_instance",
    instanceUuid: instance.uuid,
    requestId: call.requestId,
    host,
    forced: host !== null && (call.version < 30 || isTrue(requested.force)),
    blockMigration: requested.block_migration === "auto" ? null : isTrue(requested.block_migration),
    diskOverCommit: isTrue(requested.disk_over_commit ?? false),
  });
}

/**
 * Converts the task's result to a response.
 * @param failure undefined if a destination was found
 * @throws {HttpError} 400, 409; rethrows unexpected errors
 */
function toResponse({ task }: StoredTask, failure: unknown): ComputeResponse {
  if (failure === undefined) {
    return ACCEPTED;
  }
  if (failure instanceof InstanceInvalidState) {
    throw conflict(
      `Cannot 'os-migrateLive' instance ${task.instanceUuid} while it is in power_state ${failure.powerState}`,
    );
  }
  throw isUnsuitableHost(failure) ? badRequest(messageOf(failure)) : failure;
}
