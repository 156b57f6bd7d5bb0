import { and, or, where } from "../../resources/condition.js";
import type { RecordOf } from "../../resources/resource.js";
import type { NetworkContext } from "../engine/network-context.js";
import { createRecord } from "../engine/records.js";
import { ownedBy, sharedWith } from "../engine/sharing.js";
import { SECURITY_GROUPS } from "../resources/security-groups.js";

export type SecurityGroup = RecordOf<typeof SECURITY_GROUPS.attributes>;

/** The name of the group that each project has from its first use of the network. */
export const DEFAULT_GROUP = "default";

/**
 * Returns the id of a project's default group; creates it at first use. Callers run it in a transaction.
 * @throws {HttpError} 409 if its rules exceed the quota
 */
export function ensureDefaultGroup(context: NetworkContext, projectId: string): string {
  const [existing] = context.table(SECURITY_GROUPS).ids(where`default_of = ${projectId}`);
  if (existing !== undefined) {
    return existing;
  }
  return createRecord(context.internal, SECURITY_GROUPS, {
    name: DEFAULT_GROUP,
    description: "Default security group",
    stateful: true,
    project_id: projectId,
    default_of: projectId,
  }).id;
}

/**
 * Creates the default group of the project whose groups, or rules, are listed: that of a filter, or the caller's.
 * Only an administrator creates the group of another project.
 */
export function ensureListedDefaultGroup(
  context: NetworkContext,
  filters: ReadonlyMap<string, readonly string[]>,
): void {
  const { caller } = context;
  const [project = caller.projectId] = filters.get("project_id") ?? filters.get("tenant_id") ?? [];
  if (project !== "" && (project === caller.projectId || caller.isAdmin)) {
    ensureDefaultGroup(context, project);
  }
}

/**
 * Returns the groups that a project may use, with an id or a name; its own ones come first. Creates a missing default
 * group.
 */
export function findGroups(context: NetworkContext, projectId: string, nameOrId: string): readonly SecurityGroup[] {
  ensureDefaultGroup(context, projectId);
  const project = context.as({ ...context.caller, projectId });
  const named = where`id = ${nameOrId} OR name = ${nameOrId}`;
  const usable = or(ownedBy(project, SECURITY_GROUPS), sharedWith(project, SECURITY_GROUPS));
  return context
    .table(SECURITY_GROUPS)
    .find(and(named, usable))
    .toSorted((one, other) => Number(other.project_id === projectId) - Number(one.project_id === projectId));
}

/** Returns the names of groups by id; missing groups are absent. */
export function groupNames(context: NetworkContext, ids: readonly string[]): ReadonlyMap<string, string> {
  const groups = context.table(SECURITY_GROUPS).withIds([...new Set(ids)]);
  return new Map(groups.map(({ id, name }) => [id, name]));
}
