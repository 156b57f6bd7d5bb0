import type { Limits } from "../../store/quotas.js";
import type { ComputeDeps } from "../api/deps.js";
import { RESOURCES, UNLIMITED } from "./resources.js";

type QuotaDeps = Pick<ComputeDeps, "store" | "quota">;

const NOTHING_LIMITED: Limits = Object.fromEntries(RESOURCES.map((name) => [name, UNLIMITED]));

/**
 * Returns the limits of a class. Only `default` has an effect, on projects without explicit quotas; the others are
 * merely stored.
 */
export function classLimits({ store, quota }: QuotaDeps, className = "default"): Limits {
  return quota.enforced ? { ...quota.defaults, ...store.quotas.classLimits(className) } : NOTHING_LIMITED;
}

/**
 * Returns the limits of a project, or of a user in it, whose unset limits are those of the project.
 * @param userId null for the project
 */
export function limitsOf(deps: QuotaDeps, projectId: string, userId: string | null): Limits {
  if (!deps.quota.enforced) {
    return NOTHING_LIMITED;
  }
  const { quotas } = deps.store;
  const own = userId === null ? {} : quotas.limits(projectId, userId);
  return { ...classLimits(deps), ...quotas.limits(projectId, null), ...own };
}

export function isOver(limit: number | undefined, requested: number): boolean {
  return limit !== undefined && limit >= 0 && requested > limit;
}

/** Usage of a project, or of one of its users. */
export interface ServerUsage {
  readonly instances: number;
  readonly cores: number;
  readonly ram: number;
}

/** Counts servers. Build requests and shelved servers count; soft-deleted servers do not. */
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

/**
 * Returns a function from a resource to its usage. As in Nova, it is 0 for resources that are counted per user, group
 * or server.
 */
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
