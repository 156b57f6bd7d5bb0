import type { Task } from "../../../../../src/control-plane/store/tasks.js";
import type { InstanceChanges } from "../../../../../src/records/index.js";
import { type Operated, operated } from "./operated.js";
import { getExternalCalls } from "./transcript.js";

type LiveTask = Extract<Task, { kind: "live_migrate_instance" }>;

export const CHECK = "check_can_live_migrate_destination";

export async function guest(
  options: { readonly hosts?: number; readonly version?: number; readonly changes?: InstanceChanges } = {},
): Promise<Operated> {
  const { hosts: count = 2, ...more } = options;
  const hosts = Array.from({ length: count }, (_, index) => `devstack${index + 1}`);
  const world = await operated("migrating", { ...more, hosts });
  world.bench.agentReplies.set(CHECK, ({ host }) => ({ found: host }));
  return world;
}

export function taskOf({ head }: Operated, more: Partial<LiveTask> = {}): LiveTask {
  return {
    kind: "live_migrate_instance",
    ...head,
    host: null,
    forced: false,
    blockMigration: null,
    diskOverCommit: false,
    ...more,
  };
}
export const forced = (world: Operated, host = "devstack2") => taskOf(world, { host, forced: true });

export const CREATED = {
  migrationType: "live-migration",
  status: "accepted",
  sourceCompute: "devstack1",
  sourceNode: "devstack1",
  oldInstanceTypeId: 1,
  newInstanceTypeId: 1,
  userId: "actor",
  projectId: "actors",
};
export const EVENT = "conductor_live_migrate_instance on conductor:";
/** Returns the records after a migration that leaves the instance unchanged (row 2). */
export function rejectedOutcome(message: string, more: object = {}) {
  return {
    instance: { taskState: null, taskRequestId: null },
    "migration M1": { ...CREATED, status: "error", ...more },
    fault: { code: 500, message, host: "conductor" },
    events: [`${EVENT} Error (${message})`],
  };
}
/** Returns the calls to hosts, which check whether they can take the guest. */
export function getHostCalls(lines: Parameters<typeof getExternalCalls>[0]) {
  return getExternalCalls(lines).filter((line) => line.startsWith("call "));
}
