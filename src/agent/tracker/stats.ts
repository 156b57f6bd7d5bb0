import type { Instance, TaskState } from "../../records/index.js";

/** What the statistics of a node are made of: one entry an instance that is counted there. */
export type CountedInstance = Pick<Instance, "vmState" | "taskState" | "projectId" | "systemMetadata">;

/** Tasks that load disk and network (Nova's io_workload, beside the instances that are being built). */
const IO_TASKS: readonly (TaskState | null)[] = [
  "resize_migrating",
  "rebuilding",
  "resize_prep",
  "image_snapshot",
  "image_backup",
  "rescuing",
  "unshelving",
];

/** A compute node's `stats` (spec 4.5): counts as text, keys sorted so that equal statistics are equal texts. */
export function nodeStats(
  instances: Iterable<CountedInstance>,
  failedBuilds: number,
  driverStats: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const counts = new Map<string, number>([
    ["num_instances", 0],
    ["io_workload", 0],
  ]);
  const count = (key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);
  for (const instance of instances) {
    count("num_instances");
    count(`num_vm_${instance.vmState}`);
    count(`num_task_${instance.taskState ?? "None"}`);
    count(`num_os_type_${instance.systemMetadata.os_type ?? "None"}`);
    count(`num_proj_${instance.projectId}`);
    if (instance.vmState === "building" || IO_TASKS.includes(instance.taskState)) {
      count("io_workload");
    }
  }
  const entries: [string, string][] = [...counts].map(([key, value]) => [key, String(value)]);
  entries.push(["failed_builds", String(failedBuilds)], ...Object.entries(driverStats));
  return Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)));
}
