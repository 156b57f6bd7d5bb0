import type { Instance, Migration } from "../../records/index.js";
import { requireHostLease } from "../lifecycle/host-lease.js";
import type { AgentServices } from "../services.js";

/**
 * Spec 3.7 `_cleanup_incomplete_migrations`: what a failed move left of an instance that was then deleted elsewhere. Its
 * record in status `error` is accounted on this node until it is `failed`.
 */
export async function cleanUpIncompleteMigrations(services: AgentServices): Promise<void> {
  const migrations = await services.conductor.call("migrations_by_filters", {
    filters: { host: services.host, statuses: ["error"], readDeleted: true },
  });
  if (migrations.length === 0) {
    return;
  }
  const instances = await services.conductor.call("instances_by_filters", {
    filters: { deleted: true, softDeleted: false, uuids: migrations.map(({ instanceUuid }) => instanceUuid) },
  });
  const deleted = new Map(instances.map((instance) => [instance.uuid, instance]));
  for (const migration of migrations) {
    const instance = deleted.get(migration.instanceUuid);
    if (instance && instance.host !== services.host) {
      await cleanUp(services, instance, migration);
    }
  }
}

async function cleanUp(services: AgentServices, instance: Instance, migration: Migration): Promise<void> {
  requireHostLease(services, `clean up after migration ${migration.id}`);
  const fields = { instance: instance.uuid, migration: migration.id };
  try {
    await services.driver.deleteInstanceFiles(instance);
    // What the guest had on this host is in the instance's migration_context: old_* on the source, new_* elsewhere.
    await services.driver.cleanupLingeringInstanceResources(instance);
    await services.conductor.call("migration_save", { id: migration.id, changes: { status: "failed" } });
  } catch (error) {
    services.logger.error("what a failed move left here could not be removed", { ...fields, err: error });
  }
}
