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
