import { DEFAULT_GROUP, type SecurityGroup } from "../../store/security-groups.js";
import type { Store } from "../../store/store.js";
import { NetworkFault } from "../api/fault.js";
import { assertWithinQuota } from "../info/quotas.js";

/** @throws {NetworkFault} 409 {@link SecurityGroupDefaultExists} */
export function newGroup(
  store: Store,
  attributes: Pick<SecurityGroup, "projectId" | "name" | "description"> & { readonly stateful?: boolean },
): SecurityGroup {
  const { securityGroups } = store;
  return store.transaction(() => {
    securityGroups.ensureDefault(attributes.projectId);
    assertWithinQuota(store, "security_group", attributes.projectId);
    return securityGroups.create(attributes);
  });
}

/** @throws {NetworkFault} 409 */
export function changeGroup(
  { securityGroups }: Store,
  group: SecurityGroup,
  changes: Partial<Pick<SecurityGroup, "name" | "description" | "stateful">>,
): SecurityGroup {
  const { name = group.name } = changes;
  if (name !== group.name && [name, group.name].includes(DEFAULT_GROUP)) {
    throw new NetworkFault(409, "SecurityGroupCannotUpdateDefault", "Updating default security group not allowed.");
  }
  securityGroups.update(group, changes);
  return securityGroups.get(group.uuid) ?? group;
}

/** @throws {NetworkFault} 409 {@link SecurityGroupInUse} */
export function removeGroup({ securityGroups }: Store, { uuid, name }: SecurityGroup, isAdmin: boolean): void {
  if (name === DEFAULT_GROUP && !isAdmin) {
    const text = "Insufficient rights for removing default security group.";
    throw new NetworkFault(409, "SecurityGroupCannotRemoveDefault", text);
  }
  securityGroups.destroy(uuid);
}
