import type { InjectedFile, ServerGroup } from "../../../records/index.js";
import type { Call } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { Fault } from "../api/fault.js";
import { isOver, limitsOf } from "./limits-of.js";

type QuotaDeps = Pick<ComputeDeps, "store" | "quota">;

/** The limit of who calls: the smaller of the project's and the user's. */
function limitFor(deps: QuotaDeps, { credentials }: Call, resource: string): number | undefined {
  const { userId, projectId } = credentials;
  const limits = [null, userId].map((user) => limitsOf(deps, projectId ?? "", user)[resource] ?? -1);
  return limits.filter((limit) => limit >= 0).sort((one, other) => one - other)[0];
}

/** @throws {Fault} 403 */
export function assertMetadataQuota(
  deps: QuotaDeps,
  call: Call,
  metadata: Readonly<Record<string, string>> = {},
): void {
  const count = Object.keys(metadata).length;
  const limit = count === 0 ? undefined : limitFor(deps, call, "metadata_items");
  if (isOver(limit, count)) {
    throw new Fault(403, `Maximum number of metadata items exceeds ${limit}`);
  }
}

/** Counts the metadata of an image that is made of a server, which Nova does until 2.38. @throws {Fault} 403 */
export function assertImageMetadataQuota(
  deps: QuotaDeps,
  call: Call,
  metadata: Readonly<Record<string, string>> = {},
): void {
  if (call.version < 39 && isOver(limitFor(deps, call, "metadata_items"), Object.keys(metadata).length)) {
    throw new Fault(403, "Image metadata limit exceeded");
  }
}

/** Files that a guest begins with, of APIs before 2.57. @throws {Fault} 403 */
export function assertFileQuota(deps: QuotaDeps, call: Call, files: readonly InjectedFile[] = []): void {
  if (files.length === 0) {
    return;
  }
  if (isOver(limitFor(deps, call, "injected_files"), files.length)) {
    throw new Fault(403, "Personality file limit exceeded");
  }
  const paths = limitFor(deps, call, "injected_file_path_bytes");
  if (files.some(({ path }) => isOver(paths, path.length))) {
    throw new Fault(403, `Personality file path exceeds maximum ${paths}`);
  }
  const contents = limitFor(deps, call, "injected_file_content_bytes");
  if (files.some((file) => isOver(contents, Buffer.from(file.contents, "base64").length))) {
    throw new Fault(403, `Personality file content exceeds maximum ${contents}`);
  }
}

/** One more, of this user. To be called in the transaction that makes it, as the two below. @throws {Fault} 403 */
export function assertKeyPairQuota(deps: QuotaDeps, call: Call, userId: string): void {
  if (isOver(limitFor(deps, call, "key_pairs"), deps.store.keyPairs.count(userId) + 1)) {
    throw new Fault(403, "Quota exceeded, too many key pairs.");
  }
}

/** @throws {Fault} 403 */
export function assertServerGroupQuota(deps: QuotaDeps, projectId: string, userId: string): void {
  const { serverGroups } = deps.store;
  const over = [null, userId].some((user) =>
    isOver(limitsOf(deps, projectId, user).server_groups, serverGroups.count(projectId, user) + 1),
  );
  if (over) {
    throw new Fault(403, "Quota exceeded, too many server groups.");
  }
}

/** @throws {Fault} 403 */
export function assertMemberQuota(deps: QuotaDeps, call: Call, group: ServerGroup, more: number): void {
  const members = deps.store.serverGroups.countMembers(group.id, call.credentials.userId);
  if (isOver(limitFor(deps, call, "server_group_members"), members + more)) {
    throw new Fault(403, "Quota exceeded, too many servers in group");
  }
}
