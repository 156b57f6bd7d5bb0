import { SERVER_GROUP_POLICIES, type ServerGroup, type ServerGroupPolicy } from "../../records/index.js";
import { badRequest, notFound } from "../http/http-error.js";
import type { Json } from "../http/json.js";
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
import type { ComputeDeps } from "./api/deps.js";
import { INTEGER_TEXT, MULTI, NAME, POSITIVE_INTEGER } from "./api/schema-parts.js";
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

const RULES = { type: "object", properties: { max_server_per_host: POSITIVE_INTEGER }, additionalProperties: false };

const CREATE = schemas<CreateBody>(
  [1, body({ policies: policiesSchema(["anti-affinity", "affinity"]) })],
  [15, body({ policies: policiesSchema(["anti-affinity", "affinity", "soft-anti-affinity", "soft-affinity"]) })],
  [64, body({ policy: { type: "string", enum: SERVER_GROUP_POLICIES }, rules: RULES })],
);

const LIST = schemas<unknown>([1, querySchema(true)], [75, querySchema(false)]);

export const groupNotFound = (uuid: string): string => `Instance group ${uuid} could not be found.`;

/** Routes of server groups, whose members are placed on the same host or on different ones (spec 6.9). */
export const SERVER_GROUP_ROUTES: readonly ComputeRoute[] = [
  { method: "GET", path: "/os-server-groups", handle: list },
  { method: "POST", path: "/os-server-groups", handle: create },
  { method: "GET", path: "/os-server-groups/:id", handle: show },
  { method: "DELETE", path: "/os-server-groups/:id", handle: destroy },
];

const policyRule = (what: string): string => `os_compute_api:os-server-groups:${what}`;

/**
 * Lists the project's groups. With `all_projects` an administrator gets all groups; for other users it has no effect.
 */
function list({ store }: ComputeDeps, call: Call): ComputeResponse {
  call.checkQuery(LIST);
  requireReader(call, policyRule("index"));
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

/** The page size without a limit, or with a limit of 0. */
const MAX_LIMIT = 1000;

const readOffset = (text = "0"): number => Math.min(Number(text), Number.MAX_SAFE_INTEGER);

function show(deps: ComputeDeps, call: Call): ComputeResponse {
  requireReader(call, policyRule("show"));
  const group = found(deps, call);
  return { body: { server_group: viewOf(deps, group, call) } };
}

function create(deps: ComputeDeps, call: Call): ComputeResponse {
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
  const group = deps.store.transaction(() => {
    assertServerGroupQuota(deps, projectId, userId);
    return deps.store.serverGroups.create({ projectId, userId, name, policy: chosen, maxServerPerHost });
  });
  return { body: { server_group: viewOf(deps, group, call) } };
}

function destroy(deps: ComputeDeps, call: Call): ComputeResponse {
  requireMember(call, policyRule("delete"));
  deps.store.serverGroups.destroy(found(deps, call).uuid);
  return { status: 204 };
}

/** @throws {HttpError} 404 */
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

/** Returns the group if the caller may see it. */
export function findServerGroup(
  { store }: Pick<ComputeDeps, "store">,
  { isAdmin, credentials }: Call,
  uuid: string,
): ServerGroup | undefined {
  const group = store.serverGroups.get(uuid);
  return group && (isAdmin || group.projectId === credentials.projectId) ? group : undefined;
}

function body(properties: Readonly<Record<string, Schema>>): Schema {
  return {
    type: "object",
    properties: {
      server_group: {
        type: "object",
        properties: { name: NAME, ...properties },
        required: ["name", Object.keys(properties)[0]],
        additionalProperties: false,
      },
    },
    required: ["server_group"],
    additionalProperties: false,
  };
}

function policiesSchema(allowed: readonly ServerGroupPolicy[]): Schema {
  return {
    type: "array",
    items: [{ type: "string", enum: allowed }],
    uniqueItems: true,
    minItems: 1,
    maxItems: 1,
    additionalItems: false,
  };
}

function querySchema(additionalProperties: boolean): Schema {
  const page = { limit: MULTI(INTEGER_TEXT), offset: MULTI(INTEGER_TEXT) };
  return { type: "object", properties: { all_projects: MULTI(), ...page }, additionalProperties };
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
