import type { Instance, Migration, MigrationStatus } from "../../records/index.js";
import { badRequest, conflict, notFound } from "../http/http-error.js";
import { schemas } from "../http/schemas.js";
import { type Call, type ComputeResponse, type ComputeRoute, requireAdmin } from "./api/call.js";
import type { ComputeDeps } from "./api/deps.js";
import { recordAction, requireState } from "./servers/actions/server-action.js";
import { assertNotLocked, findInstance } from "./servers/find-server.js";

const FORCE_COMPLETE = schemas<unknown>([
  22,
  {
    type: "object",
    properties: { force_complete: { type: "null" } },
    required: ["force_complete"],
    additionalProperties: false,
  },
]);

/** Routes that abort a live migration in progress or force it to complete (spec 6.5). */
export const SERVER_MIGRATION_ACTION_ROUTES: readonly ComputeRoute[] = [
  { method: "POST", path: "/servers/:id/migrations/:migration/action", from: 22, handle: forceComplete },
  { method: "DELETE", path: "/servers/:id/migrations/:migration", from: 24, handle: abort },
];

function forceComplete(deps: ComputeDeps, call: Call): ComputeResponse {
  call.body(FORCE_COMPLETE);
  return deps.store.transaction(() => {
    const instance = findInstance(deps, call);
    requireAdmin(call, "os_compute_api:servers:migrations:force_complete");
    assertNotLocked(call, instance);
    requireState(instance, "force_complete", { vm: ["active"], task: ["migrating"] });
    const migration = findMigration(deps, call, instance);
    assertMigrationStatus(instance, migration, "force complete", ["running"]);
    recordAction(deps, call, instance, "live_migration_force_complete");
    const params = { instanceUuid: instance.uuid, migrationId: migration.id, requestId: call.requestId };
    deps.bus.cast(sourceOf(migration), "live_migration_force_complete", params, call.requestId);
    return { status: 202 };
  });
}

function abort(deps: ComputeDeps, call: Call): ComputeResponse {
  return deps.store.transaction(() => {
    const instance = findInstance(deps, call);
    requireAdmin(call, "os_compute_api:servers:migrations:delete");
    assertNotLocked(call, instance);
    requireState(instance, "abort live migration", { task: ["migrating"] });
    const migration = findMigration(deps, call, instance);
    const waiting: readonly MigrationStatus[] = call.version >= 65 ? ["queued", "preparing"] : [];
    assertMigrationStatus(instance, migration, "abort live migration", ["running", ...waiting]);
    recordAction(deps, call, instance, "live_migration_cancel");
    const params = { instanceUuid: instance.uuid, migrationId: migration.id, requestId: call.requestId };
    deps.bus.cast(sourceOf(migration), "live_migration_abort", params, call.requestId);
    return { status: 202 };
  });
}

/** @throws {HttpError} 404 */
function findMigration({ store }: ComputeDeps, call: Call, { uuid }: Instance): Migration {
  const id = call.param("migration");
  const migration = /^\d{1,15}$/.test(id) ? store.migrations.get(Number(id)) : null;
  if (migration?.instanceUuid !== uuid) {
    throw notFound(`Migration ${id} not found for instance ${uuid}`);
  }
  return migration;
}

/** @throws {HttpError} 400 */
function assertMigrationStatus(
  { uuid }: Instance,
  { id, status, migrationType }: Migration,
  method: string,
  allowed: readonly MigrationStatus[],
): void {
  if (migrationType === "live-migration" && allowed.includes(status)) {
    return;
  }
  throw badRequest(
    `Migration ${id} state of instance ${uuid} is ${status}. Cannot ${method} while the migration is in this state.`,
  );
}

function sourceOf({ sourceCompute, id }: Migration): string {
  if (sourceCompute === null) {
    throw conflict(`Migration ${id} has no source host`);
  }
  return sourceCompute;
}
