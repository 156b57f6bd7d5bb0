import type { Task } from "../../../../../src/control-plane/store/tasks.js";
import type { Flavor, Selection } from "../../../../../src/records/index.js";
import { FLAVOR, NEED } from "./bench.js";
import { type Operated, providerOf } from "./operated.js";

export type MigrateTask = Extract<Task, { kind: "migrate_server" }>;

export const SMALL: Flavor = { ...FLAVOR, id: 2, flavorid: "2", name: "m1.small", memoryMb: 2048, rootGb: 20 };
export const THREE = ["devstack1", "devstack2", "devstack3"];

/** Creates a cold migration to a host that the scheduler selects, with optional changes. */
export function taskOf({ head }: Operated, more: Partial<MigrateTask> = {}): MigrateTask {
  return {
    kind: "migrate_server",
    ...head,
    flavor: FLAVOR,
    host: null,
    ...more,
  };
}

/** Creates the selection of an earlier scheduling. */
export function selectionOf(world: Operated, host: string): Selection {
  const uuid = providerOf(world, host);
  const request = { allocationRequest: { [uuid]: { resources: NEED } }, allocationRequestVersion: "1.36" };
  return { host, node: host, computeNodeUuid: uuid, ...request };
}

/** Disables all hosts except the server's own. */
export function disableOthers({ bench }: Operated): void {
  for (const { id, host } of bench.store.services.list({})) {
    bench.store.services.update(id, { disabled: host !== "devstack1" });
  }
}

/** The initial columns of such a task's migration. */
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

/** Returns the events of such a task after it ended. */
export function bothEvents(result: string): readonly string[] {
  return [`conductor_migrate_server on conductor: ${result}`, `cold_migrate on conductor: ${result}`];
}
