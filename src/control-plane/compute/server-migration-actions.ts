import type { Instance, Migration, MigrationStatus } from "../../records/index.js";
import { badRequest, conflict, notFound } from "../http/http-error.js";
import { routes } from "../http/router.js";
import { schemas } from "../http/schemas.js";
import { type Call, type ComputeResponse, type ComputeRoute, requireAdmin } from "./api/call.js";
import { bodyOf } from "./api/schema-parts.js";
import { recordAction, requireState } from "./servers/actions/server-action.js";
import { assertNotLocked, findInstance } from "./servers/find-server.js";

const FORCE_COMPLETE = schemas<unknown>([22, bodyOf("force_complete", { type: "null" })]);

/** Routes that abort a live migration in progress or force it to complete (spec 6.5). */
export const SERVER_MIGRATION_ACTION_ROUTES = routes<ComputeRoute>({
  "POST /servers/:id/migrations/:migration/action": { from: 22, handle: forceComplete },
  "DELETE /servers/:id/migrations/:migration": { from: 24, handle: abort },
});

function forceComplete(call: Call): ComputeResponse {
  call.body(FORCE_COMPLETE);
  return call.store.transaction(() => {
    const instance = findInstance(call);
    requireAdmin(call, "os_compute_api:servers:migrations:force_complete");
    assertNotLocked(call, instance);
    requireState(instance, "force_complete", { vm: ["active"], task: ["migrating"] });
    const migration = findMigration(call, instance);
    assertMigrationStatus(instance, migration, "force complete", ["running"]);
    recordAction(call, instance, "live_migration_force_complete");
    const params = { instanceUuid: instance.uuid, migrationId: migration.id, requestId: call.requestId };
    call.deps.bus.cast(sourceOf(migration), "live_migration_force_complete", params, call.requestId);
    return { status: 202 };
  });
}

function abort(call: Call): ComputeResponse {
  return call.store.transaction(() => {
    const instance = findInstance(call);
    requireAdmin(call, "os_compute_api:servers:migrations:delete");
    assertNotLocked(call, instance);
    requireState(instance, "abort live migration", { task: ["migrating"] });
    const migration = findMigration(call, instance);
    const waiting: readonly MigrationStatus[] = call.version >= 65 ? ["queued", "preparing"] : [];
    assertMigrationStatus(instance, migration, "abort live migration", ["running", ...waiting]);
    recordAction(call, instance, "live_migration_cancel");
    const params = { instanceUuid: instance.uuid, migrationId: migration.id, requestId: call.requestId };
    call.deps.bus.cast(sourceOf(migration), "live_migration_abort", params, call.requestId);
    return { status: 202 };
  });
}

function findMigration(call: Call, { uuid }: Instance): Migration {
  const id = call.param("migration");
  const migration = /^\d{1,15}$/.test(id) ? call.store.migrations.get(Number(id)) : null;
  if (migration?.instanceUuid !== uuid) {
    throw notFound(`Migration ${id} not found for instance ${uuid}`);
  }
  return migration;
}

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
