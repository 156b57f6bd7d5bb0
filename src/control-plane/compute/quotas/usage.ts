import type { ComputeDeps } from "../api/deps.js";
import { UNLIMITED } from "./resources.js";

/** What is counted of a project's servers, or of those that one of its users has made. */
export interface ServerUsage {
  readonly instances: number;
  readonly cores: number;
  readonly ram: number;
}

/** Servers that are only asked for count too; soft-deleted ones do not. Shelved ones do, wherever they are. */
export function serverUsage(
  { store }: Pick<ComputeDeps, "store">,
  projectId: string,
  userId: string | null,
): ServerUsage {
  const pending = store.requests
    .buildRequests(projectId)
    .map(({ instance }) => instance)
    .filter((instance) => userId === null || instance.userId === userId);
  const placed = store.instances.usage(projectId, userId);
  return {
    instances: placed.instances + pending.length,
    cores: pending.reduce((sum, { vcpus }) => sum + vcpus, placed.vcpus),
    ram: pending.reduce((sum, { memoryMb }) => sum + memoryMb, placed.memoryMb),
  };
}

/** What the API tells of usage; of what is counted for each user or group or server, Nova tells 0. */
export function createUsageReader(
  deps: Pick<ComputeDeps, "store" | "quota">,
  projectId: string,
  userId: string | null,
): (resource: string) => number {
  if (!deps.quota.enforced) {
    return () => UNLIMITED;
  }
  const counted: Readonly<Record<string, number>> = {
    ...serverUsage(deps, projectId, userId),
    server_groups: deps.store.serverGroups.count(projectId, userId),
  };
  return (resource) => counted[resource] ?? 0;
}
