import { and, type Condition, EVERY, NONE, or } from "../../resources/condition.js";
import type { NetworkContext } from "./network-context.js";
import type { NetworkResource, RbacKind } from "./network-resource.js";

/** Roles that read the records of all projects, as Neutron's queries let them. */
const GLOBAL_ROLES = ["service", "advsvc"];

/** Whether the caller's queries are restricted to its project. */
export function seesAll({ caller }: NetworkContext): boolean {
  return caller.isAdmin || caller.isInternal || GLOBAL_ROLES.some((role) => caller.roles.includes(role));
}

/** Matches the records that the caller may see. */
export function visibleTo(context: NetworkContext, resource: NetworkResource): Condition {
  if (seesAll(context)) {
    return EVERY;
  }
  const { visible } = context.services.registry.behaviourOf(resource);
  if (visible) {
    return visible(context);
  }
  const owner = resource.attributes.project_id;
  if (owner === undefined || owner.stored === false) {
    return EVERY;
  }
  return or(ownedBy(context, resource), sharedWith(context, resource));
}

export function ownedBy({ caller }: NetworkContext, { table }: NetworkResource): Condition {
  return { sql: `${table}.project_id = ?`, values: [caller.projectId] };
}

/** Matches the records that RBAC policies share with the caller's project. @param actions default: all */
export function sharedWith(
  context: NetworkContext,
  { rbac, table }: NetworkResource,
  actions?: readonly string[],
): Condition {
  return rbac === undefined ? NONE : sharedRows(`${table}.id`, rbac, context.caller.projectId, actions);
}

/** Matches rows whose expression is the id of an object that is shared with a project, or with all. */
export function sharedRows(
  expression: string,
  { objectType, actions: all }: RbacKind,
  projectId: string,
  actions: readonly string[] = all,
): Condition {
  const names = actions.map((action) => `'${action}'`).join(", ");
  return {
    sql: `EXISTS (SELECT 1 FROM network_rbac_policies AS rbac WHERE rbac.object_id = ${expression}
      AND rbac.object_type = '${objectType}' AND rbac.target_tenant IN (?, '*') AND rbac.action IN (${names}))`,
    values: [projectId],
  };
}

/** Returns the ids of those records that have `shared: true` for the caller. */
export function sharedIds(
  context: NetworkContext,
  resource: NetworkResource,
  ids: readonly string[],
): ReadonlySet<string> {
  const { rbac, table } = resource;
  if (rbac === undefined || ids.length === 0) {
    return new Set();
  }
  const shared = sharedRows(`${table}.id`, rbac, context.caller.projectId, rbac.actions.slice(0, 1));
  const chosen: Condition = { sql: `${table}.id IN (SELECT value FROM json_each(?))`, values: [JSON.stringify(ids)] };
  return new Set(context.table(resource).ids(and(chosen, shared)));
}
