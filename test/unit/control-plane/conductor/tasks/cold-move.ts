import type { Task } from "../../../../../src/control-plane/store/tasks.js";
import type { Flavor, Selection } from "../../../../../src/records/index.js";
import { FLAVOR, NEED } from "./bench.js";
import { type Operated, providerOf } from "./operated.js";

export type MigrateTask = Extract<Task, { kind: "migrate_server" }>;

export const SMALL: Flavor = { ...FLAVOR, id: 2, flavorid: "2", name: "m1.small", memoryMb: 2048, rootGb: 20 };
export const THREE = ["devstack1", "devstack2", "devstack3"];

/** A cold migration to wherever the scheduler says, unless more is said. */
export function taskOf({ head }: Operated, more: Partial<MigrateTask> = {}): MigrateTask {
  return {
    kind: "migrate_server",
    ...head,
    flavor: FLAVOR,
    host: null,
    ...more,
  };
}

/** A destination that the scheduler has chosen before. */
export function selectionOf(world: Operated, host: string): Selection {
  const uuid = providerOf(world, host);
  const request = { allocationRequest: { [uuid]: { resources: NEED } }, allocationRequestVersion: "1.36" };
  return { host, node: host, computeNodeUuid: uuid, ...request };
}

/** Takes all hosts but the server's own from the scheduler. */
export function disableOthers({ bench }: Operated): void {
  for (const { id, host } of bench.store.services.list({})) {
    bench.store.services.update(id, { disabled: host !== "devstack1" });
  }
}

/** What the migration of such a task says from the start. */
export const CREATED = {
  migrationType: "migration",
  status: "pre-migrating",
  sourceCompute: "devstack1",
  sourceNode: "devstack1",
  oldInstanceTypeId: 1,
  newInstanceTypeId: 1,
  userId: "actor",
  projectId: "actors",
};

/** The events of such a task when they have ended. */
export function bothEvents(result: string): readonly string[] {
  return [`conductor_migrate_server on conductor: ${result}`, `cold_migrate on conductor: ${result}`];
}
