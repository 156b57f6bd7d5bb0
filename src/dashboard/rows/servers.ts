import { serverStatus } from "../../control-plane/compute/servers/server-status.js";
import { explainedFault } from "../../control-plane/scheduler/errors.js";
import type { Store } from "../../control-plane/store/store.js";
import {
  FINAL_MIGRATION_STATUSES,
  type Instance,
  MIGRATION_STATUSES,
  type Migration,
  POWER_STATES,
} from "../../records/index.js";
import type { FlavorRow } from "../wire/messages.js";
import type { MigrationRow, ServerRow } from "../wire/rows.js";

/** The flavors by their ids in the Compute API. Servers and moves reference them by row id. */
export class Flavors {
  readonly #store: Pick<Store, "flavors">;
  readonly #rows = new Map<string, FlavorRow>();
  readonly #names = new Map<number, string>();

  constructor(store: Pick<Store, "flavors">) {
    this.#store = store;
  }

  all(): ReadonlyMap<string, FlavorRow> {
    this.note();
    return this.#rows;
  }

  read(key: string): FlavorRow | undefined {
    return this.#rows.get(key);
  }

  nameOf(id: number | null): string | null {
    if (id !== null && !this.#names.has(id)) {
      this.note();
    }
    return id === null ? null : (this.#names.get(id) ?? null);
  }

  /** Reads the flavors again. @returns the ids of those that may have changed */
  note(): readonly string[] {
    const before = [...this.#rows.keys()];
    this.#rows.clear();
    for (const { id, flavorid, name, vcpus, memoryMb, rootGb } of this.#store.flavors.list()) {
      this.#names.set(id, name);
      this.#rows.set(flavorid, { name, vcpus, memoryMb, diskGb: rootGb });
    }
    return [...new Set([...before, ...this.#rows.keys()])];
  }

  clear(): void {
    this.#rows.clear();
    this.#names.clear();
  }
}

const POWER_NAMES = new Map<number, string>(Object.entries(POWER_STATES).map(([name, number]) => [number, name]));

export function serverRow(instance: Instance, store: Pick<Store, "instances">): ServerRow {
  const { flavor } = instance;
  return {
    uuid: instance.uuid,
    name: instance.displayName,
    status: serverStatus(instance),
    vmState: instance.vmState,
    taskState: instance.taskState,
    power: POWER_NAMES.get(instance.powerState) ?? "nostate",
    host: instance.host,
    node: instance.node,
    flavor: flavor.name,
    vcpus: flavor.vcpus,
    memoryMb: flavor.memoryMb,
    diskGb: flavor.rootGb,
    projectId: instance.projectId,
    createdAt: instance.createdAt,
    updatedAt: instance.updatedAt,
    fault: instance.vmState === "error" ? faultOf(store, instance.uuid) : null,
    requestId: instance.taskRequestId,
  };
}

/** @param flavorName returns the name of the flavor with this row id */
export function migrationRow(migration: Migration, flavorName: (id: number | null) => string | null): MigrationRow {
  const { memoryTotal, memoryProcessed } = migration;
  return {
    uuid: migration.uuid,
    id: migration.id,
    server: migration.instanceUuid,
    type: migration.migrationType,
    status: migration.status,
    source: migration.sourceCompute,
    dest: migration.destCompute,
    oldFlavor: flavorName(migration.oldInstanceTypeId),
    newFlavor: flavorName(migration.newInstanceTypeId),
    progress:
      memoryTotal !== null && memoryTotal > 0 && memoryProcessed !== null
        ? Math.min(100, Math.round((100 * memoryProcessed) / memoryTotal))
        : null,
    createdAt: migration.createdAt,
    updatedAt: migration.updatedAt,
  };
}

function faultOf(store: Pick<Store, "instances">, uuid: string): string | null {
  const fault = store.instances.fault(uuid);
  return fault === null ? null : explainedFault(fault);
}

const UNDER_WAY = MIGRATION_STATUSES.filter((status) => !FINAL_MIGRATION_STATUSES.includes(status));

/** The moves that the page displays: those in progress, and evacuations whose source has not cleaned up yet. */
export class Moves {
  readonly #store: Pick<Store, "migrations">;
  readonly #flavors: Flavors;

  constructor(store: Pick<Store, "migrations">, flavors: Flavors) {
    this.#store = store;
    this.#flavors = flavors;
  }

  /** Returns undefined if the move has ended. */
  read(uuid: string): MigrationRow | undefined {
    const migration = this.#store.migrations.getByUuid(uuid);
    return migration !== null && isVisible(migration) ? this.#row(migration) : undefined;
  }

  all(): readonly MigrationRow[] {
    const { migrations } = this.#store;
    return [
      ...migrations.byFilters({ statuses: UNDER_WAY }),
      ...migrations.byFilters({ migrationTypes: ["evacuation"], statuses: ["done"] }),
    ].map((migration) => this.#row(migration));
  }

  #row(migration: Migration): MigrationRow {
    return migrationRow(migration, (id) => this.#flavors.nameOf(id));
  }
}

function isVisible({ status, migrationType, deleted }: Migration): boolean {
  return (
    deleted === 0 &&
    (!FINAL_MIGRATION_STATUSES.includes(status) || (migrationType === "evacuation" && status === "done"))
  );
}
