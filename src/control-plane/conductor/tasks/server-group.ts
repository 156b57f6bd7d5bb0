import type { TaskDeps } from "./task-deps.js";

/** By what the destination knows that it has to look at the policy of a server group, when it has claimed. */
export function serverGroupOf({ store }: Pick<TaskDeps, "store">, instanceUuid: string): { serverGroup?: string } {
  const group = store.serverGroups.ofInstance(instanceUuid);
  return group === null ? {} : { serverGroup: group.uuid };
}
