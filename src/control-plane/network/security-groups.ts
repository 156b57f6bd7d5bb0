import { defined } from "../../runtime/collections.js";
import { conflict } from "../http/http-error.js";
import { isoSeconds } from "../http/times.js";
import { DEFAULT_GROUP, type SecurityGroup, type SecurityGroupRule } from "../store/security-groups.js";
import type { Store } from "../store/store.js";
import { enforce, type NetworkCall } from "./api/call.js";
import type { Input } from "./api/input.js";
import { type Attributes, view } from "./api/listing.js";
import type { Resource } from "./api/resource-routes.js";
import { tagRoutes } from "./api/tags.js";
import { assertWithinQuota } from "./quotas.js";
import { withoutHostBits } from "./security-group-rule-values.js";

export const RULE: Attributes<SecurityGroupRule> = {
  id: ({ uuid }) => uuid,
  tenant_id: ({ projectId }) => projectId,
  project_id: ({ projectId }) => projectId,
  security_group_id: ({ groupUuid }) => groupUuid,
  ethertype: ({ ethertype }) => ethertype,
  direction: ({ direction }) => direction,
  protocol: ({ protocol }) => protocol,
  port_range_min: ({ portMin }) => portMin,
  port_range_max: ({ portMax }) => portMax,
  remote_ip_prefix: ({ remotePrefix }) => remotePrefix,
  remote_group_id: ({ remoteGroup }) => remoteGroup,
  remote_address_group_id: () => null,
  normalized_cidr: ({ remotePrefix }) => (remotePrefix === null ? null : withoutHostBits(remotePrefix)),
  description: ({ description }) => description,
  tags: () => [],
  created_at: ({ createdAt }) => isoSeconds(createdAt),
  updated_at: ({ createdAt }) => isoSeconds(createdAt),
  revision_number: () => 0,
};

const GROUP: Attributes<SecurityGroup> = {
  id: ({ uuid }) => uuid,
  name: ({ name }) => name,
  stateful: ({ stateful }) => stateful,
  tenant_id: ({ projectId }) => projectId,
  project_id: ({ projectId }) => projectId,
  description: ({ description }) => description,
  shared: () => false,
  security_group_rules: ({ uuid }, call) =>
    call.store.securityGroups.rulesOf(uuid).map((rule) => view(call, RULE, rule, new Set())),
  tags: ({ uuid }, { store }) => [...store.networkTags.of(uuid)],
  created_at: ({ createdAt }) => isoSeconds(createdAt),
  updated_at: ({ updatedAt }) => isoSeconds(updatedAt),
  revision_number: ({ revision }) => revision,
};

export const SECURITY_GROUPS: Resource<SecurityGroup> = {
  plural: "security_groups",
  singular: "security_group",
  path: "/v2.0/security-groups",
  attributes: () => GROUP,
  owner: ({ projectId }) => projectId,
  list: (call) => {
    ensureOwnDefault(call);
    return call.store.securityGroups.list(call.listedProject);
  },
  find: ({ store }, id) => store.securityGroups.get(id) ?? undefined,
  create: createGroup,
  update: { rule: "update_security_group", change: updateGroup },
  remove: ({ store, isAdmin }, group) => removeGroup(store, group, isAdmin),
};

export const SECURITY_GROUP_TAGS = tagRoutes<SecurityGroup>({
  ...SECURITY_GROUPS,
  touch: ({ store }, group) => store.securityGroups.update(group, {}),
});

/**
 * Creates the default group of the caller's project before a list. As in Neutron, an administrator's list creates no
 * others.
 */
export function ensureOwnDefault({ store, caller, query }: Pick<NetworkCall, "store" | "caller" | "query">): void {
  const requestedProject = query.get("project_id") ?? query.get("tenant_id");
  if (caller.projectId !== null && (requestedProject === undefined || requestedProject === caller.projectId)) {
    store.securityGroups.ensureDefault(caller.projectId);
  }
}

function createGroup(call: NetworkCall, input: Input): SecurityGroup {
  const { store, caller } = call;
  const projectId = input.project(call);
  const attributes = {
    projectId,
    name: input.text("name") ?? "",
    description: input.text("description") ?? "",
    stateful: input.flag("stateful") ?? true,
  };
  input.end();
  enforce(caller, "create_security_group", projectId);
  return newGroup(store, attributes);
}

function updateGroup({ store }: NetworkCall, group: SecurityGroup, input: Input): SecurityGroup {
  const changes = {
    name: input.text("name"),
    description: input.text("description"),
    stateful: input.flag("stateful"),
  };
  input.end();
  return changeGroup(store, group, defined(changes));
}

/** @throws {HttpError} 409 {@link SecurityGroupDefaultAlreadyExists} */
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

/** @throws {HttpError} 409 */
export function changeGroup(
  { securityGroups }: Store,
  group: SecurityGroup,
  changes: Partial<Pick<SecurityGroup, "name" | "description" | "stateful">>,
): SecurityGroup {
  const { name = group.name } = changes;
  if (name !== group.name && [name, group.name].includes(DEFAULT_GROUP)) {
    throw conflict("Updating default security group not allowed.", "SecurityGroupCannotUpdateDefault");
  }
  securityGroups.update(group, changes);
  return securityGroups.get(group.uuid) ?? group;
}

/** @throws {HttpError} 409 {@link SecurityGroupInUse} */
export function removeGroup({ securityGroups }: Store, { uuid, name }: SecurityGroup, isAdmin: boolean): void {
  if (name === DEFAULT_GROUP && !isAdmin) {
    const text = "Insufficient rights for removing default security group.";
    throw conflict(text, "SecurityGroupCannotRemoveDefault");
  }
  securityGroups.destroy(uuid);
}
