import type { ServerGroup } from "../../../records/index.js";
import type { Call, ComputeResponse, ComputeRoute } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { badRequest, notFound } from "../api/fault.js";
import { readPage } from "../api/paging.js";
import { denied, requireMember, requireReader } from "../api/policy.js";
import { assertServerGroupQuota } from "../quotas/request-quota.js";
import { findServerGroup, groupNotFound } from "./find-server-group.js";
import { CREATE, LIST } from "./schemas.js";
import { serverGroupView } from "./server-group-view.js";

/** Servers that are to be on one host, or on different ones (spec 6.9). */
export const SERVER_GROUP_ROUTES: readonly ComputeRoute[] = [
  { method: "GET", path: "/os-server-groups", handle: list },
  { method: "POST", path: "/os-server-groups", handle: create },
  { method: "GET", path: "/os-server-groups/:id", handle: show },
  { method: "DELETE", path: "/os-server-groups/:id", handle: destroy },
];

const policy = (what: string): string => `os_compute_api:os-server-groups:${what}`;

/** Lists the groups of the project. An administrator gets all with `all_projects`, which means nothing from others. */
function list({ store }: ComputeDeps, call: Call): ComputeResponse {
  call.checkQuery(LIST);
  requireReader(call, policy("index"));
  const { query, version, isAdmin, credentials } = call;
  const all = isAdmin && query.get("all_projects") !== undefined;
  const { limit } = readPage(call);
  const page = { offset: readOffset(query.get("offset")), limit: limit || MAX_LIMIT };
  const groups = store.serverGroups.list(all ? undefined : (credentials.projectId ?? ""), page);
  const members = store.serverGroups.members(groups.map(({ id }) => id));
  return {
    body: { server_groups: groups.map((group) => serverGroupView(group, members.get(group.id) ?? [], version)) },
  };
}

/** No limit, and what 0 means. */
const MAX_LIMIT = 1000;

const readOffset = (text = "0"): number => Math.min(Number(text), Number.MAX_SAFE_INTEGER);

function show(deps: ComputeDeps, call: Call): ComputeResponse {
  requireReader(call, policy("show"));
  const group = found(deps, call);
  return { body: { server_group: viewOf(deps, group, call) } };
}

function create(deps: ComputeDeps, call: Call): ComputeResponse {
  const requested = call.body(CREATE).server_group;
  requireMember(call, policy("create"));
  const { projectId, userId } = call.credentials;
  if (projectId === null) {
    throw denied(policy("create"));
  }
  const { name, policies = [], rules = {} } = requested;
  const [chosen = requested.policy ?? "anti-affinity"] = policies;
  if (chosen !== "anti-affinity" && Object.keys(rules).length > 0) {
    throw badRequest("Only anti-affinity policy supports rules.");
  }
  const maxServerPerHost = Number(rules.max_server_per_host ?? 0);
  const group = deps.store.transaction(() => {
    assertServerGroupQuota(deps, projectId, userId);
    return deps.store.serverGroups.create({ projectId, userId, name, policy: chosen, maxServerPerHost });
  });
  return { body: { server_group: viewOf(deps, group, call) } };
}

function destroy(deps: ComputeDeps, call: Call): ComputeResponse {
  requireMember(call, policy("delete"));
  deps.store.serverGroups.destroy(found(deps, call).uuid);
  return { status: 204 };
}

/** @throws {Fault} 404 */
function found(deps: ComputeDeps, call: Call): ServerGroup {
  const uuid = call.param("id");
  const group = findServerGroup(deps, call, uuid);
  if (!group) {
    throw notFound(groupNotFound(uuid));
  }
  return group;
}

function viewOf({ store }: ComputeDeps, group: ServerGroup, { version }: Call) {
  return serverGroupView(group, store.serverGroups.members([group.id]).get(group.id) ?? [], version);
}
