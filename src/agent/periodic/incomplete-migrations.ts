import type { Instance, Migration } from "../../records/index.js";
import { requireHostLease } from "../life/host-lease.js";
import type { AgentParts } from "../parts.js";

/**
 * Spec 3.7 `_cleanup_incomplete_migrations`: what a failed move left of an instance that was then deleted elsewhere. Its
 * record in status `error` is accounted on this node until it is `failed`.
 */
export async function cleanUpIncompleteMigrations(parts: AgentParts): Promise<void> {
  const migrations = await parts.conductor.call("migrations_by_filters", {
    filters: { host: parts.host, statuses: ["error"], readDeleted: true },
  });
  if (migrations.length === 0) {
    return;
  }
  const instances = await parts.conductor.call("instances_by_filters", {
    filters: { deleted: true, softDeleted: false, uuids: migrations.map(({ instanceUuid }) => instanceUuid) },
  });
  const deleted = new Map(instances.map((instance) => [instance.uuid, instance]));
  for (const migration of migrations) {
    const instance = deleted.get(migration.instanceUuid);
    if (instance && instance.host !== parts.host) {
      await cleanUp(parts, instance, migration);
    }
  }
}

async function cleanUp(parts: AgentParts, instance: Instance, migration: Migration): Promise<void> {
  requireHostLease(parts, `clean up after migration ${migration.id}`);
  const fields = { instance: instance.uuid, migration: migration.id };
  try {
    await parts.driver.deleteInstanceFiles(instance);
    // What the guest had on this host is in the instance's migration_context: old_* on the source, new_* elsewhere.
    await parts.driver.cleanupLingeringInstanceResources(instance);
    await parts.conductor.call("migration_save", { id: migration.id, changes: { status: "failed" } });
  } catch (error) {
    parts.logger.error("what a failed move left here could not be removed", { ...fields, err: error });
  }
}
