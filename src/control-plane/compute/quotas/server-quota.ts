import type { Flavor } from "../../../records/index.js";
import type { Limits } from "../../store/quotas.js";
import type { ComputeDeps } from "../api/deps.js";
import { Fault } from "../api/fault.js";
import { isOver, limitsOf } from "./limits-of.js";
import { UNLIMITED } from "./resources.js";
import { type ServerUsage, serverUsage } from "./usage.js";

type QuotaDeps = Pick<ComputeDeps, "store" | "quota">;

/** The project and the user that servers are counted of. */
interface Owner {
  readonly projectId: string;
  readonly userId: string;
}

/** A limit and what is used of it. */
interface Scope {
  readonly limits: Limits;
  readonly used: ServerUsage;
}

type Size = Pick<Flavor, "vcpus" | "memoryMb">;

const COUNTED = ["cores", "instances", "ram"] as const;

/**
 * How many servers of the flavor may be made, at most `most`: as many as the limits leave. To be called in the transaction
 * that makes them, so that two requests cannot both have the last place.
 * @throws {Fault} 403 fewer than `least`
 */
export function serversInQuota(deps: QuotaDeps, owner: Owner, flavor: Size, least: number, most: number): number {
  const scopes = scopesOf(deps, owner);
  const allowed = Math.min(most, ...scopes.map((scope) => room(scope, flavor)));
  if (allowed >= least && allowed > 0) {
    return allowed;
  }
  const requested = { instances: most, cores: most * flavor.vcpus, ram: most * flavor.memoryMb };
  const reportedAmounts = { ...requested, instances: least === most ? most : `${least}-${most}` };
  throw new Fault(403, exceeded(scopes, requested, reportedAmounts));
}

/**
 * A flavor that is larger than the one before; one that is smaller, or moves without a change, is no question.
 * @throws {Fault} `status`
 */
export function assertUpsizeQuota(deps: QuotaDeps, owner: Owner, before: Size, after: Size, status: 403 | 413): void {
  const requested = {
    instances: 0,
    cores: Math.max(0, after.vcpus - before.vcpus),
    ram: Math.max(0, after.memoryMb - before.memoryMb),
  };
  const scopes = requested.cores > 0 || requested.ram > 0 ? scopesOf(deps, owner) : [];
  if (scopes.some((scope) => overs(scope, requested).length > 0)) {
    throw new Fault(status, exceeded(scopes, requested, requested));
  }
}

/** The project, and the user where somebody has set a limit for that; not what nothing limits. */
function scopesOf(deps: QuotaDeps, { projectId, userId }: Owner): readonly Scope[] {
  if (!deps.quota.enforced) {
    return [];
  }
  const own = deps.store.quotas.limits(projectId, userId);
  const users = COUNTED.some((name) => own[name] !== undefined) ? [null, userId] : [null];
  return users.flatMap((user) => {
    const limits = limitsOf(deps, projectId, user);
    // Thousands of servers would be counted for nothing.
    return COUNTED.some((name) => isLimited(limits[name]))
      ? [{ limits, used: serverUsage(deps, projectId, user) }]
      : [];
  });
}

const isLimited = (limit = UNLIMITED): boolean => limit >= 0;

/** Servers of the flavor for which there is room. */
function room({ limits, used }: Scope, { vcpus, memoryMb }: Size): number {
  const each: ServerUsage = { instances: 1, cores: vcpus, ram: memoryMb };
  const rooms = COUNTED.map((name) => {
    const { [name]: limit = UNLIMITED } = limits;
    return !isLimited(limit) || each[name] === 0
      ? Number.POSITIVE_INFINITY
      : Math.max(0, Math.floor((limit - used[name]) / each[name]));
  });
  return Math.min(...rooms);
}

function overs({ limits, used }: Scope, requested: ServerUsage) {
  return COUNTED.filter((name) => requested[name] > 0 && isOver(limits[name], used[name] + requested[name]));
}

/** As Nova words it, of the first scope that is too small. */
function exceeded(
  scopes: readonly Scope[],
  requested: ServerUsage,
  reportedAmounts: Readonly<Record<keyof ServerUsage, number | string>>,
): string {
  const scope = scopes.find((each) => overs(each, requested).length > 0);
  const names = scope ? overs(scope, requested) : [];
  const list = (value: (name: keyof ServerUsage) => number | string | undefined) => names.map(value).join(", ");
  const all = list((name) => name);
  return `Quota exceeded for ${all}: Requested ${list((name) => reportedAmounts[name])}, but already used ${list(
    (name) => scope?.used[name],
  )} of ${list((name) => scope?.limits[name])} ${all}`;
}
