import { isoSeconds } from "../../http/times.js";
import type { SecurityGroup } from "../../store/security-groups.js";
import type { NetworkCall } from "../api/call.js";
import type { Input } from "../api/input.js";
import { type Attributes, view } from "../api/listing.js";
import { enforce } from "../api/policy.js";
import type { Resource } from "../api/resource-routes.js";
import { tagRoutes } from "../api/tags.js";
import { changeGroup, newGroup, removeGroup } from "./change-group.js";
import { RULE } from "./rule-view.js";

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

/** A list of groups has the default one of the caller's project; as in Neutron, administrators' lists make no other's. */
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
  const name = input.text("name");
  const description = input.text("description");
  const stateful = input.flag("stateful");
  input.end();
  return changeGroup(store, group, {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(stateful === undefined ? {} : { stateful }),
  });
}
