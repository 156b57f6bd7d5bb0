import type { Flavor, InjectedFile, ServerGroup } from "../../../records/index.js";
import { forbidden, HttpError } from "../../http/http-error.js";
import type { Limits } from "../../store/quotas.js";
import type { Call } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { isOver, limitsOf, type ServerUsage, serverUsage } from "./limits-and-usage.js";
import { UNLIMITED } from "./resources.js";

type QuotaDeps = Pick<ComputeDeps, "store" | "quota">;

/** The project and the user for which servers are counted. */
interface Owner {
  readonly projectId: string;
  readonly userId: string;
}

/** Limits and their usage, for a project or a user. */
interface Scope {
  readonly limits: Limits;
  readonly used: ServerUsage;
}

type Size = Pick<Flavor, "vcpus" | "memoryMb">;

const COUNTED = ["cores", "instances", "ram"] as const;

/**
 * Returns how many servers of the flavor may be created: `most`, or as many as the limits allow. Call it in the
 * transaction that creates them, so that two requests cannot both take the last one.
 * @throws {HttpError} 403 for fewer than `least`
 */
export function serversInQuota(deps: QuotaDeps, owner: Owner, flavor: Size, least: number, most: number): number {
  const scopes = scopesOf(deps, owner);
  const allowed = Math.min(most, ...scopes.map((scope) => room(scope, flavor)));
  if (allowed >= least && allowed > 0) {
    return allowed;
  }
  const requested = { instances: most, cores: most * flavor.vcpus, ram: most * flavor.memoryMb };
  const reportedAmounts = { ...requested, instances: least === most ? most : `${least}-${most}` };
  throw forbidden(exceeded(scopes, requested, reportedAmounts));
}

/**
 * Checks the quota for a larger flavor. A smaller one, or a move without a change, is always allowed.
 * @throws {HttpError} `status`
 */
export function assertUpsizeQuota(deps: QuotaDeps, owner: Owner, before: Size, after: Size, status: 403 | 413): void {
  const requested = {
    instances: 0,
    cores: Math.max(0, after.vcpus - before.vcpus),
    ram: Math.max(0, after.memoryMb - before.memoryMb),
  };
  const scopes = requested.cores > 0 || requested.ram > 0 ? scopesOf(deps, owner) : [];
  if (scopes.some((scope) => overs(scope, requested).length > 0)) {
    throw new HttpError(status, exceeded(scopes, requested, requested));
  }
}

/** Returns the project's scope, and the user's if the user has explicit limits. Scopes without limits are omitted. */
function scopesOf(deps: QuotaDeps, { projectId, userId }: Owner): readonly Scope[] {
  if (!deps.quota.enforced) {
    return [];
  }
  const own = deps.store.quotas.limits(projectId, userId);
  const users = COUNTED.some((name) => own[name] !== undefined) ? [null, userId] : [null];
  return users.flatMap((user) => {
    const limits = limitsOf(deps, projectId, user);
    // Counting is skipped if nothing is limited: a project may have thousands of servers.
    return COUNTED.some((name) => isLimited(limits[name]))
      ? [{ limits, used: serverUsage(deps, projectId, user) }]
      : [];
  });
}

const isLimited = (limit = UNLIMITED): boolean => limit >= 0;

/** Returns how many more servers of the flavor the scope allows. */
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

/** Returns Nova's message for the first scope that is exceeded. */
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

/** Returns the caller's limit: the smaller of the project's and the user's. */
function limitFor({ deps, credentials }: Call, resource: string): number | undefined {
  const { userId, projectId } = credentials;
  const limits = [null, userId].map((user) => limitsOf(deps, projectId ?? "", user)[resource] ?? -1);
  return limits.filter((limit) => limit >= 0).sort((one, other) => one - other)[0];
}

/** @throws {HttpError} 403 */
export function assertMetadataQuota(call: Call, metadata: Readonly<Record<string, string>> = {}): void {
  const count = Object.keys(metadata).length;
  const limit = count === 0 ? undefined : limitFor(call, "metadata_items");
  if (isOver(limit, count)) {
    throw forbidden(`Maximum number of metadata items exceeds ${limit}`);
  }
}

/** Counts the metadata of an image created from a server, as Nova does up to 2.38. @throws {HttpError} 403 */
export function assertImageMetadataQuota(call: Call, metadata: Readonly<Record<string, string>> = {}): void {
  if (call.version < 39 && isOver(limitFor(call, "metadata_items"), Object.keys(metadata).length)) {
    throw forbidden("Image metadata limit exceeded");
  }
}

/** Checks injected files, which exist before 2.57. @throws {HttpError} 403 */
export function assertFileQuota(call: Call, files: readonly InjectedFile[] = []): void {
  if (files.length === 0) {
    return;
  }
  if (isOver(limitFor(call, "injected_files"), files.length)) {
    throw forbidden("Personality file limit exceeded");
  }
  const paths = limitFor(call, "injected_file_path_bytes");
  if (files.some(({ path }) => isOver(paths, path.length))) {
    throw forbidden(`Personality file path exceeds maximum ${paths}`);
  }
  const contents = limitFor(call, "injected_file_content_bytes");
  if (files.some((file) => isOver(contents, Buffer.from(file.contents, "base64").length))) {
    throw forbidden(`Personality file content exceeds maximum ${contents}`);
  }
}

/**
 * Checks that the user may have one more key pair. Call this and the next two checks in the transaction that creates
 * the resource.
 * @throws {HttpError} 403
 */
export function assertKeyPairQuota(call: Call, userId: string): void {
  if (isOver(limitFor(call, "key_pairs"), call.store.keyPairs.count(userId) + 1)) {
    throw forbidden("Quota exceeded, too many key pairs.");
  }
}

/** @throws {HttpError} 403 */
export function assertServerGroupQuota(deps: QuotaDeps, projectId: string, userId: string): void {
  const { serverGroups } = deps.store;
  const over = [null, userId].some((user) =>
    isOver(limitsOf(deps, projectId, user).server_groups, serverGroups.count(projectId, user) + 1),
  );
  if (over) {
    throw forbidden("Quota exceeded, too many server groups.");
  }
}

/** @throws {HttpError} 403 */
export function assertMemberQuota(call: Call, group: ServerGroup, more: number): void {
  const members = call.store.serverGroups.countMembers(group.id, call.credentials.userId);
  if (isOver(limitFor(call, "server_group_members"), members + more)) {
    throw forbidden("Quota exceeded, too many servers in group");
  }
}
