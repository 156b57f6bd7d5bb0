import type { Limits } from "../../store/quotas.js";
import type { ComputeDeps } from "../api/deps.js";
import { RESOURCES, UNLIMITED } from "./resources.js";

type QuotaDeps = Pick<ComputeDeps, "store" | "quota">;

const NOTHING_LIMITED: Limits = Object.fromEntries(RESOURCES.map((name) => [name, UNLIMITED]));

/** What a project has that nobody has set anything for: the class `default`, else nova.conf. */
export function defaultLimits({ store, quota }: QuotaDeps): Limits {
  return quota.enforced ? { ...quota.defaults, ...store.quotas.classLimits("default") } : NOTHING_LIMITED;
}

/** Nobody has projects in other classes: they are kept and shown. */
export function classLimits({ store, quota }: QuotaDeps, className: string): Limits {
  return quota.enforced ? { ...quota.defaults, ...store.quotas.classLimits(className) } : NOTHING_LIMITED;
}

/** @param userId a user's limits in the project, which are the project's where nobody has set others; null: the project's */
export function limitsOf(deps: QuotaDeps, projectId: string, userId: string | null): Limits {
  if (!deps.quota.enforced) {
    return NOTHING_LIMITED;
  }
  const { quotas } = deps.store;
  const own = userId === null ? {} : quotas.limits(projectId, userId);
  return { ...defaultLimits(deps), ...quotas.limits(projectId, null), ...own };
}

export function isOver(limit: number | undefined, requested: number): boolean {
  return limit !== undefined && limit >= 0 && requested > limit;
}

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
