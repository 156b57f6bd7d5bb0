import { NetworkFault } from "../../network/api/fault.js";
import { changeGroup, newGroup, removeGroup } from "../../network/security-groups/change-group.js";
import type { SecurityGroup } from "../../store/security-groups.js";
import { SecurityGroupInUse } from "../../store/store-errors.js";
import type { Call, ComputeResponse, ComputeRoute } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { badRequest } from "../api/fault.js";
import { readPage, takePage } from "../api/paging.js";
import { denied, requireMember, requireReader } from "../api/policy.js";
import { findServer } from "../servers/find-server.js";
import { findOwn, LAST_PROXY, memberOf, policy, proxied } from "./proxy.js";
import { createRule, deleteRule } from "./rules.js";
import { groupView } from "./security-group-view.js";

/** Nova's proxy of security groups. */
export const SECURITY_GROUP_ROUTES: readonly ComputeRoute[] = [
  { method: "GET", path: "/os-security-groups", until: LAST_PROXY, handle: list },
  { method: "POST", path: "/os-security-groups", until: LAST_PROXY, handle: create },
  {
    method: "GET",
    path: "/os-security-groups/:id",
    until: LAST_PROXY,
    handle: ({ store }, call) => {
      requireReader(call, policy("show"));
      return { body: { security_group: groupView(store, findOwn(store, call)) } };
    },
  },
  { method: "PUT", path: "/os-security-groups/:id", until: LAST_PROXY, handle: update },
  { method: "DELETE", path: "/os-security-groups/:id", until: LAST_PROXY, handle: destroy },
  { method: "POST", path: "/os-security-group-rules", until: LAST_PROXY, handle: createRule },
  { method: "DELETE", path: "/os-security-group-rules/:id", until: LAST_PROXY, handle: deleteRule },
  {
    method: "GET",
    path: "/servers/:id/os-security-groups",
    handle: (deps, call) => {
      const { instance } = findServer(deps, call);
      requireReader(call, policy("list"));
      const { store } = deps;
      const uuids = store.ports.ofDevice(instance.uuid).flatMap(({ securityGroups }) => securityGroups);
      const groups = uuids.flatMap((uuid) => store.securityGroups.get(uuid) ?? []);
      return { body: { security_groups: sorted(groups).map((group) => groupView(store, group)) } };
    },
  },
];

function list({ store }: ComputeDeps, call: Call): ComputeResponse {
  requireReader(call, policy("get"));
  const { projectId } = call.credentials;
  if (projectId !== null) {
    store.securityGroups.ensureDefault(projectId);
  }
  const all = call.isAdmin && call.query.get("all_tenants") !== undefined;
  const found = store.securityGroups.list(all ? undefined : (projectId ?? ""));
  const from = offsetOf(call);
  const page = takePage(found.slice(from), { ...readPage(call), marker: undefined }, ({ uuid }) => uuid);
  return { body: { security_groups: sorted(page).map((group) => groupView(store, group)) } };
}

function offsetOf({ query }: Call): number {
  const text = query.get("offset") ?? "0";
  if (!/^\d{1,9}$/.test(text)) {
    throw badRequest("offset param must be an integer");
  }
  return Number(text);
}

function sorted(groups: readonly SecurityGroup[]): readonly SecurityGroup[] {
  const key = ({ projectId, name }: SecurityGroup): string => JSON.stringify([projectId, name]);
  return [...groups].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

function create({ store }: ComputeDeps, call: Call): ComputeResponse {
  requireMember(call, policy("create"));
  const { projectId } = call.credentials;
  if (projectId === null) {
    throw denied(policy("create"));
  }
  const attributes = namesIn(memberOf(call, "security_group"));
  const group = proxied(() => newGroup(store, { ...attributes, projectId }));
  return { body: { security_group: groupView(store, group) } };
}

function update({ store }: ComputeDeps, call: Call): ComputeResponse {
  requireMember(call, policy("update"));
  const group = findOwn(store, call);
  const attributes = namesIn(memberOf(call, "security_group"));
  const changed = proxied(() => changeGroup(store, group, attributes));
  return { body: { security_group: groupView(store, changed) } };
}

function destroy({ store }: ComputeDeps, call: Call): ComputeResponse {
  requireMember(call, policy("delete"));
  const group = findOwn(store, call);
  try {
    removeGroup(store, group, call.isAdmin);
  } catch (error) {
    throw error instanceof NetworkFault || error instanceof SecurityGroupInUse ? badRequest(error.message) : error;
  }
  return { status: 202 };
}

function namesIn({ name, description }: Readonly<Record<string, unknown>>) {
  return { name: shortText("name", name), description: shortText("description", description) };
}

function shortText(property: string, value: unknown): string {
  if (typeof value !== "string") {
    throw badRequest(`Invalid input received: ${property} is not a string or unicode`);
  }
  if (value.length > 255) {
    throw badRequest(`Invalid input received: ${property} has ${value.length} characters, more than 255.`);
  }
  return value;
}
