import type { TaskState } from "../../../records/index.js";
import type { SnapshotOptions, SnapshotStage } from "../../../virt/types.js";
import type { OperationServices } from "../contract.js";

/** The task states through which an instance goes while its driver makes an image of it. */
export type SnapshotStages = Readonly<Record<SnapshotStage, { readonly task: TaskState; readonly from: TaskState }>>;

/** Rejects when the instance has another task state by then, or another host. */
export function updateTaskState(
  { context }: OperationServices,
  uuid: string,
  stages: SnapshotStages,
): SnapshotOptions["updateTaskState"] {
  return async (stage) => {
    const { task, from } = stages[stage];
    await context.conductor.call("instance_save", {
      uuid,
      changes: { taskState: task },
      expectedTaskState: [from],
      expectedHost: context.host,
    });
  };
}
