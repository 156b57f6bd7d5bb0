import { where } from "../../resources/condition.js";
import type { Behaviour, NetworkContext } from "../engine/network-context.js";
import { invalidOperation, networkError, recordNotFound } from "../engine/network-errors.js";
import type { NetworkInput, NetworkRecord } from "../engine/network-resource.js";
import { NETWORKS } from "../resources/networks.js";
import { RBAC_POLICIES } from "../resources/rbac-policies.js";
import { ADDRESS_SCOPES } from "../resources/subnet-pools.js";
import { assertExternalAccessUnused, EXTERNAL, makeExternal, updateExternal } from "./external-access.js";
import { policyInUse } from "./policy-in-use.js";
import { findShared, isShareable, projectsUsing, SHAREABLE, type ShareableType } from "./shared-objects.js";

type Policy = NetworkRecord<typeof RBAC_POLICIES>;
type Input = NetworkInput<typeof RBAC_POLICIES>;

const SHARED = "access_as_shared";

export const RBAC_BEHAVIOUR: Behaviour<typeof RBAC_POLICIES.attributes> = {
  prepareCreate(context, input) {
    const policy = assertCreatable(context, input);
    assertUnique(context, policy);
    return {};
  },
  afterCreate(context, policy) {
    if (policy.object_type === "network") {
      if (policy.action === EXTERNAL) {
        makeExternal(context, policy.object_id);
      }
      context.touch(NETWORKS as never, policy.object_id);
    }
  },
  prepareUpdate(context, policy, changes) {
    const { target_tenant: target } = changes;
    assertChangeable(context, policy);
    if (target === undefined || target === policy.target_tenant) {
      return changes;
    }
    if (policy.action === EXTERNAL) {
      assertExternalAccessUnused(context, policy, target);
    } else if (policy.object_type === "network" || target !== "*") {
      assertUnused(context, policy);
    }
    assertUnique(context, { ...policy, target_tenant: target });
    return changes;
  },
  beforeDelete(context, policy) {
    if (policy.action === EXTERNAL) {
      assertExternalAccessUnused(context, policy);
    } else {
      assertUnused(context, policy);
    }
  },
  afterDelete(context, policy) {
    if (policy.object_type === "network") {
      if (policy.action === EXTERNAL) {
        updateExternal(context, policy.object_id);
      }
      context.touch(NETWORKS as never, policy.object_id);
    }
  },
};

type Target = Pick<Policy, "action" | "object_id" | "object_type" | "target_tenant">;

/** @throws {HttpError} 400 */
function assertCreatable(context: NetworkContext, input: Input): Target {
  const { action = "", object_id = "", object_type = "", target_tenant = "" } = input;
  const policy = { action, object_id, object_type, target_tenant };
  const object = assertOwned(context, policy);
  const actions: readonly string[] = SHAREABLE[object.type].rbac?.actions ?? [];
  if (!actions.includes(action)) {
    const valid = actions.map((name) => `'${name}'`).join(", ");
    throw networkError(
      400,
      "InvalidActionForType",
      `Invalid action '${action}' for object type '${object_type}'. Valid actions: (${valid}${actions.length === 1 ? "," : ""})`,
    );
  }
  assertScopeAccess(context, policy, object.addressScopeId);
  return policy;
}

/** Returns the object of a policy. @throws {HttpError} 400 if it does not exist, or belongs to another project */
function assertOwned(context: NetworkContext, { object_type: type, object_id: id }: Target) {
  const { caller } = context;
  const object = isShareable(type) ? findShared(context, type, id) : undefined;
  if (object === undefined) {
    const reason = isShareable(type) ? recordNotFound(SHAREABLE[type] as never, id).message : `'${type}' is unknown`;
    throw invalidOperation(reason.replace(/\.$/, ""));
  }
  if (!caller.isAdmin && object.projectId !== caller.projectId) {
    throw notOwned();
  }
  return object;
}

/** Neutron rejects a change of a policy on another project's object as that of a policy in use. @throws {HttpError} 409 */
function assertChangeable(context: NetworkContext, { object_type: type, object_id: id }: Policy): void {
  const { caller } = context;
  const object = isShareable(type) ? findShared(context, type, id) : undefined;
  if (!caller.isAdmin && object?.projectId !== caller.projectId) {
    throw policyInUse(id, notOwned().message);
  }
}

function notOwned(): Error {
  return invalidOperation("Only admins can manipulate policies on objects they do not own");
}

/** A subnet pool can be shared only with projects that see its address scope. @throws {HttpError} 400 */
function assertScopeAccess(context: NetworkContext, policy: Target, scopeId: string | null): void {
  const { object_id: id, target_tenant: target } = policy;
  const shared = where`object_type = ${ADDRESS_SCOPES.rbac?.objectType ?? ""} AND object_id = ${scopeId}
    AND target_tenant IN ('*', ${target})`;
  if (scopeId !== null && !context.table(RBAC_POLICIES).has(shared)) {
    throw invalidOperation(
      `Failed to create RBAC policy on object ${id} because target project doesn't have access to associated address scope`,
    );
  }
}

/** @throws {HttpError} 409 */
function assertUnique(context: NetworkContext, { object_id: id, action, target_tenant: target }: Target): void {
  const same = where`object_id = ${id} AND action = ${action} AND target_tenant = ${target}`;
  if (context.table(RBAC_POLICIES).has(same)) {
    throw networkError(409, "DuplicateRbacPolicy", "An RBAC policy already exists with those values.");
  }
}

/**
 * Checks that the projects that use the object through a policy have access without it.
 * @throws {HttpError} 409
 */
function assertUnused(context: NetworkContext, policy: Policy): void {
  const { object_type: type, object_id: id, target_tenant: target } = policy;
  const object = isShareable(type) ? findShared(context, type, id) : undefined;
  if (object === undefined || target === object.projectId) {
    return;
  }
  const users = projectsUsing(context, object.type, id);
  const others = targetsOf(context, policy);
  const isUsed =
    target === "*"
      ? [...users].some((user) => !others.has(user) && !isOwnerOfNetwork(object, user))
      : users.has(target) && !others.has("*");
  if (isUsed) {
    throw policyInUse(
      id,
      type === "network"
        ? `Unable to reconfigure sharing settings for network ${id}. Multiple tenants are using it.`
        : `project_id=${target}`,
    );
  }
}

/** Neutron lets the owner of a network use it without a policy, but counts the owner of other objects as their user. */
function isOwnerOfNetwork(object: { readonly type: ShareableType; readonly projectId: string }, user: string): boolean {
  return object.type === "network" && user === object.projectId;
}

/** Returns the targets of the other policies with the same object and action. */
function targetsOf(context: NetworkContext, { id, object_id: object }: Policy): ReadonlySet<string> {
  const others = context
    .table(RBAC_POLICIES)
    .find(where`object_id = ${object} AND action = ${SHARED} AND id IS NOT ${id}`);
  return new Set(others.map(({ target_tenant: target }) => target));
}
