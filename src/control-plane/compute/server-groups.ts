import { SERVER_GROUP_POLICIES, type ServerGroup, type ServerGroupPolicy } from "../../records/index.js";
import { badRequest, notFound } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { routes } from "../http/router.js";
import { type Schema, schemas } from "../http/schemas.js";
import {
  type Call,
  type ComputeResponse,
  type ComputeRoute,
  denied,
  readPage,
  requireMember,
  requireReader,
} from "./api/call.js";
import { bodyOf, INTEGER_TEXT, MULTI, NAME, object, POSITIVE_INTEGER, strictSince75 } from "./api/schema-parts.js";
import { assertServerGroupQuota } from "./quotas/quota-checks.js";

/** `policies` before 2.64, `policy` and `rules` since. */
interface CreateBody {
  readonly server_group: {
    readonly name: string;
    readonly policies?: readonly ServerGroupPolicy[];
    readonly policy?: ServerGroupPolicy;
    readonly rules?: { readonly max_server_per_host?: number | string };
  };
}

const RULES = object({ max_server_per_host: POSITIVE_INTEGER });

const CREATE = schemas<CreateBody>(
  [1, groupSchema("policies", policiesSchema("anti-affinity", "affinity"))],
  [15, groupSchema("policies", policiesSchema("anti-affinity", "affinity", "soft-anti-affinity", "soft-affinity"))],
  [64, groupSchema("policy", { type: "string", enum: SERVER_GROUP_POLICIES }, { rules: RULES })],
);

const LIST = schemas(
  ...strictSince75({ all_projects: MULTI(), limit: MULTI(INTEGER_TEXT), offset: MULTI(INTEGER_TEXT) }),
);

export const groupNotFound = (uuid: string): string => `Instance group ${uuid} could not be found.`;

/** Routes of server groups, whose members are placed on the same host or on different ones (spec 6.9). */
export const SERVER_GROUP_ROUTES = routes<ComputeRoute>({
  "GET /os-server-groups": list,
  "POST /os-server-groups": create,
  "GET /os-server-groups/:id": show,
  "DELETE /os-server-groups/:id": destroy,
});

const policyRule = (what: string): string => `os_compute_api:os-server-groups:${what}`;

/**
 * Lists the project's groups. With `all_projects` an administrator gets all groups; for other users it has no effect.
 */
function list(call: Call): ComputeResponse {
  call.checkQuery(LIST);
  requireReader(call, policyRule("index"));
  const { query, version, isAdmin, credentials } = call;
  const all = isAdmin && query.get("all_projects") !== undefined;
  const { limit } = readPage(call);
  const page = { offset: readOffset(query.get("offset")), limit: limit || MAX_LIMIT };
  const groups = call.store.serverGroups.list(all ? undefined : (credentials.projectId ?? ""), page);
  const members = call.store.serverGroups.members(groups.map(({ id }) => id));
  return {
    body: { server_groups: groups.map((group) => serverGroupView(group, members.get(group.id) ?? [], version)) },
  };
}

/** The page size without a limit, or with a limit of 0. */
const MAX_LIMIT = 1000;

const readOffset = (text = "0"): number => Math.min(Number(text), Number.MAX_SAFE_INTEGER);

function show(call: Call): ComputeResponse {
  requireReader(call, policyRule("show"));
  const group = found(call);
  return { body: { server_group: viewOf(group, call) } };
}

function create(call: Call): ComputeResponse {
  const requested = call.body(CREATE).server_group;
  requireMember(call, policyRule("create"));
  const { projectId, userId } = call.credentials;
  if (projectId === null) {
    throw denied(policyRule("create"));
  }
  const { name, policies = [], rules = {} } = requested;
  const [chosen = requested.policy ?? "anti-affinity"] = policies;
  if (chosen !== "anti-affinity" && Object.keys(rules).length > 0) {
    throw badRequest("Only anti-affinity policy supports rules.");
  }
  const maxServerPerHost = Number(rules.max_server_per_host ?? 0);
  const group = call.store.transaction(() => {
    assertServerGroupQuota(call.deps, projectId, userId);
    return call.store.serverGroups.create({ projectId, userId, name, policy: chosen, maxServerPerHost });
  });
  return { body: { server_group: viewOf(group, call) } };
}

function destroy(call: Call): ComputeResponse {
  requireMember(call, policyRule("delete"));
  call.store.serverGroups.destroy(found(call).uuid);
  return { status: 204 };
}

function found(call: Call): ServerGroup {
  const uuid = call.param("id");
  const group = findServerGroup(call, uuid);
  if (!group) {
    throw notFound(groupNotFound(uuid));
  }
  return group;
}

function viewOf(group: ServerGroup, { store, version }: Call) {
  return serverGroupView(group, store.serverGroups.members([group.id]).get(group.id) ?? [], version);
}

/** Returns the group if the caller may see it. */
export function findServerGroup({ store, isAdmin, credentials }: Call, uuid: string): ServerGroup | undefined {
  const group = store.serverGroups.get(uuid);
  return group && (isAdmin || group.projectId === credentials.projectId) ? group : undefined;
}

function groupSchema(member: "policies" | "policy", policy: Schema, more: Schema = {}): Schema {
  return bodyOf("server_group", object({ name: NAME, [member]: policy, ...more }, ["name", member]));
}

function policiesSchema(...allowed: readonly ServerGroupPolicy[]): Schema {
  return {
    type: "array",
    items: [{ type: "string", enum: allowed }],
    uniqueItems: true,
    minItems: 1,
    maxItems: 1,
    additionalItems: false,
  };
}

/** Renders a group with its members that are not deleted. */
function serverGroupView(group: ServerGroup, members: readonly string[], version: number): Json {
  const { uuid, name, policy, maxServerPerHost, projectId, userId } = group;
  const rules = maxServerPerHost === 0 ? {} : { max_server_per_host: maxServerPerHost };
  return {
    id: uuid,
    name,
    ...(version >= 64 ? { policy, rules } : { policies: [policy], metadata: {} }),
    members,
    ...(version >= 13 ? { project_id: projectId, user_id: userId } : {}),
  };
}
