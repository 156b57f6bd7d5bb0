import { isObject } from "../../runtime/collections.js";
import { badRequest, forbidden, HttpError, notFound } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { routes } from "../http/router.js";
import { parseAddress } from "../network/ip/addresses.js";
import {
  type Call,
  type ComputeResponse,
  type ComputeRoute,
  denied,
  readPage,
  requireMember,
  requireReader,
  takePage,
} from "./api/call.js";
import { isUuidLike } from "./api/schema-parts.js";
import { findNetworkRecord, LAST_PROXY, type NetworkRecord, requestNetwork } from "./network-proxy.js";
import { findServer } from "./servers/find-server.js";

const policy = (what: string): string => `os_compute_api:os-security-groups:${what}`;

/** A rule's protocol and ports, as the Network API has them. */
interface Protocol {
  readonly protocol: string | null;
  readonly port_range_min: number | null;
  readonly port_range_max: number | null;
}

/** Matches every protocol and port. */
const ANYTHING: Protocol = { protocol: null, port_range_min: null, port_range_max: null };

interface Rule extends Protocol {
  readonly id: string;
  readonly direction: "ingress" | "egress";
  readonly remote_group_id: string | null;
  readonly remote_ip_prefix: string | null;
}

interface Group {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly project_id: string;
  readonly security_group_rules: readonly Rule[];
}

/** Nova's proxy of security groups. */
export const SECURITY_GROUP_ROUTES = routes<ComputeRoute>({
  "GET /os-security-groups": { until: LAST_PROXY, handle: list },
  "POST /os-security-groups": { until: LAST_PROXY, handle: create },
  "GET /os-security-groups/:id": {
    until: LAST_PROXY,
    handle: async (call) => {
      requireReader(call, policy("show"));
      return { body: { security_group: await groupView(call, await findOwn(call)) } };
    },
  },
  "PUT /os-security-groups/:id": { until: LAST_PROXY, handle: update },
  "DELETE /os-security-groups/:id": { until: LAST_PROXY, handle: destroy },
  "POST /os-security-group-rules": { until: LAST_PROXY, handle: createRule },
  "DELETE /os-security-group-rules/:id": { until: LAST_PROXY, handle: deleteRule },
  "GET /servers/:id/os-security-groups": async (call) => {
    const { instance } = findServer(call);
    requireReader(call, policy("list"));
    const ids = call.deps.network.ports.ofServer(instance.uuid).flatMap(({ securityGroupIds }) => securityGroupIds);
    const groups = ids.length === 0 ? [] : await findGroups(call, { id: [...new Set(ids)] });
    return { body: { security_groups: await viewsOf(call, sorted(groups)) } };
  },
});

function findGroups(
  call: Call,
  query: Readonly<Record<string, string | readonly string[]>>,
): Promise<readonly Group[]> {
  return requestNetwork<readonly Group[]>(call, { method: "GET", path: "/security-groups", query });
}

async function list(call: Call): Promise<ComputeResponse> {
  requireReader(call, policy("get"));
  const all = call.isAdmin && call.query.get("all_tenants") !== undefined;
  const found = await findGroups(call, all ? {} : { project_id: call.credentials.projectId ?? "" });
  const page = takePage(found.slice(offsetOf(call)), { ...readPage(call), marker: undefined }, ({ id }) => id);
  return { body: { security_groups: await viewsOf(call, sorted(page)) } };
}

function offsetOf({ query }: Call): number {
  const text = query.get("offset") ?? "0";
  if (!/^\d{1,9}$/.test(text)) {
    throw badRequest("offset param must be an integer");
  }
  return Number(text);
}

function sorted(groups: readonly Group[]): readonly Group[] {
  const key = ({ project_id: projectId, name }: Group): string => JSON.stringify([projectId, name]);
  return [...groups].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

async function create(call: Call): Promise<ComputeResponse> {
  requireMember(call, policy("create"));
  if (call.credentials.projectId === null) {
    throw denied(policy("create"));
  }
  const attributes = namesIn(memberOf(call, "security_group"));
  const request = { method: "POST", path: "/security-groups", body: { security_group: attributes } } as const;
  const group = await proxied(() => requestNetwork<Group>(call, request));
  return { body: { security_group: await groupView(call, group) } };
}

async function update(call: Call): Promise<ComputeResponse> {
  requireMember(call, policy("update"));
  const { id } = await findOwn(call);
  const attributes = namesIn(memberOf(call, "security_group"));
  const request = { method: "PUT", path: `/security-groups/${id}`, body: { security_group: attributes } } as const;
  const changed = await proxied(() => requestNetwork<Group>(call, request));
  return { body: { security_group: await groupView(call, changed) } };
}

async function destroy(call: Call): Promise<ComputeResponse> {
  requireMember(call, policy("delete"));
  const { id } = await findOwn(call);
  try {
    await requestNetwork(call, { method: "DELETE", path: `/security-groups/${id}` });
  } catch (error) {
    throw error instanceof HttpError && error.status === 409 ? badRequest(error.message) : error;
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

/** Handles POST /os-security-group-rules: an ingress rule whose source is a network or a group. */
async function createRule(call: Call): Promise<ComputeResponse> {
  requireMember(call, policy("rule:create"));
  const body = memberOf(call, "security_group_rule");
  const group = await findOwn(call, body.parent_group_id);
  const source = (body.group_id ?? undefined) === undefined ? null : await findOwn(call, body.group_id);
  const cidr = source ? null : readCidr(body.cidr);
  const protocol = readProtocol(body, source !== null);
  if (protocol === null) {
    throw badRequest("Not enough parameters to build a valid rule.");
  }
  if (group.security_group_rules.some((rule) => isSameRule(rule, protocol, source?.id ?? null, cidr))) {
    throw badRequest(`This rule already exists in group ${group.id}`);
  }
  const newRule = {
    security_group_id: group.id,
    direction: "ingress",
    ethertype: cidr?.includes(":") ? "IPv6" : "IPv4",
    ...protocol,
    remote_ip_prefix: cidr,
    remote_group_id: source?.id ?? null,
  };
  const request = { method: "POST", path: "/security-group-rules", body: { security_group_rule: newRule } } as const;
  const rule = await proxied(() => requestNetwork<Rule>(call, request));
  return { body: { security_group_rule: ruleView(rule, group.id, source) } };
}

function isSameRule(rule: Rule, protocol: Protocol, remoteGroup: string | null, cidr: string | null): boolean {
  const [existing, requested] = [portsOf(rule), portsOf(protocol)];
  return (
    rule.direction === "ingress" &&
    rule.protocol === protocol.protocol &&
    rule.remote_group_id === remoteGroup &&
    (rule.remote_ip_prefix ?? "0.0.0.0/0") === (cidr ?? "0.0.0.0/0") &&
    existing.from === requested.from &&
    existing.to === requested.to
  );
}

/** Handles DELETE /os-security-group-rules/{id}. */
async function deleteRule(call: Call): Promise<ComputeResponse> {
  requireMember(call, policy("rule:delete"));
  const id = call.param("id");
  if (!isUuidLike(id)) {
    throw badRequest("Security group id should be uuid");
  }
  const path = `/security-group-rules/${id.toLowerCase()}`;
  if ((await findNetworkRecord(call, path)) === undefined) {
    throw notFound(`Security group rule ${id} does not exist`);
  }
  await requestNetwork(call, { method: "DELETE", path });
  return { status: 202 };
}

function readCidr(value: unknown): string {
  if (value === undefined || value === null || value === "") {
    return "0.0.0.0/0";
  }
  const text = String(value);
  const [, address = "", length = ""] = /^([^/]{2,45})\/(\d{1,3})$/.exec(text) ?? [];
  const version = parseAddress(address)?.version;
  const bits = version === 4 ? 32 : version === 6 ? 128 : -1;
  if (bits < 0 || Number(length) > bits) {
    throw badRequest(`Invalid cidr ${text}.`);
  }
  if (Number(length) === 0 && address !== "0.0.0.0" && address !== "::") {
    throw badRequest(`Bad prefix for network in cidr ${text}`);
  }
  return text;
}

/** Returns null if protocol or ports are missing in a rule for a network. @throws {HttpError} 400 */
function readProtocol(body: Readonly<Record<string, unknown>>, ofGroup: boolean): Protocol | null {
  const protocol = (body.ip_protocol ?? null) === null ? null : String(body.ip_protocol);
  const upper = protocol?.toUpperCase() ?? "";
  const open = ofGroup && (body.from_port ?? null) === null && (body.to_port ?? null) === null;
  const [all, last] = upper === "ICMP" ? [-1, -1] : upper === "TCP" || upper === "UDP" ? [1, 65_535] : [null, null];
  const from = open ? all : (body.from_port ?? null);
  const to = open ? last : (body.to_port ?? null);
  if (protocol === null || from === null || to === null) {
    return ofGroup ? ANYTHING : null;
  }
  const [min, max] = [integerOf(from, upper), integerOf(to, upper)];
  checkRange(upper, min, max);
  const port = (value: number): number | null => (value === -1 ? null : value);
  return { protocol: upper.toLowerCase(), port_range_min: port(min), port_range_max: port(max) };
}

function integerOf(value: unknown, protocol: string): number {
  const number = /^\s*[+-]?\d{1,9}\s*$/.test(String(value)) ? Number(value) : Number.NaN;
  if (Number.isNaN(number)) {
    throw badRequest(
      `Invalid input received: ${protocol === "ICMP" ? "Type and Code must be integers for ICMP protocol type" : "To and From ports must be integers"}`,
    );
  }
  return number;
}

function checkRange(protocol: string, from: number, to: number): void {
  const reject = (why: string): never => {
    throw badRequest(`Invalid port range ${from}:${to}. ${why}`);
  };
  if (protocol === "ICMP") {
    if (Math.min(from, to) < -1 || Math.max(from, to) > 255) {
      reject("For ICMP, the type:code must be valid");
    }
    return;
  }
  if (protocol !== "TCP" && protocol !== "UDP") {
    throw badRequest(`Invalid IP protocol ${protocol.toLowerCase()}.`);
  }
  if (from > to) {
    reject("Former value cannot be greater than the later");
  }
  if (from < 1 || to > 65_535) {
    reject(`Valid ${protocol} ports should be between 1-65535`);
  }
}

async function groupView(call: Call, group: Group): Promise<Json> {
  const [view = null] = await viewsOf(call, [group]);
  return view;
}

/** Renders groups for Nova's proxy: with ingress rules only. */
async function viewsOf(call: Call, groups: readonly Group[]): Promise<readonly Json[]> {
  const sources = new Set(
    groups.flatMap(({ security_group_rules: rules }) => rules.flatMap(({ remote_group_id: id }) => id ?? [])),
  );
  const known = new Map(groups.map((group) => [group.id, group]));
  const missing = [...sources].filter((id) => !known.has(id));
  for (const group of missing.length === 0 ? [] : await findGroups(call, { id: missing })) {
    known.set(group.id, group);
  }
  return groups.map(({ id, name, description, project_id: tenant, security_group_rules: rules }) => ({
    id,
    description,
    name,
    tenant_id: tenant,
    rules: rules
      .filter(({ direction }) => direction === "ingress")
      .map((rule) => ruleView(rule, id, known.get(rule.remote_group_id ?? "") ?? null)),
  }));
}

function ruleView(rule: Rule, groupId: string, source: Group | null): Json {
  const { from, to } = portsOf(rule);
  return {
    id: rule.id,
    parent_group_id: groupId,
    ip_protocol: rule.protocol,
    from_port: from,
    to_port: to,
    group: source ? { name: source.name, tenant_id: source.project_id } : {},
    ip_range: source ? {} : { cidr: rule.remote_ip_prefix ?? "0.0.0.0/0" },
  };
}

/**
 * Returns the ports to render. All ports of a protocol are its first and last one, or -1 for a protocol without ports.
 */
function portsOf({ protocol, port_range_min: from, port_range_max: to }: Protocol) {
  if (protocol === null || from !== null || to !== null) {
    return { from, to };
  }
  return ["tcp", "udp"].includes(protocol) ? { from: 1, to: 65_535 } : { from: -1, to: -1 };
}

/** Returns the group that the path or body names, if the caller may see it. @throws {HttpError} 400, 404 */
async function findOwn(call: Call, id: unknown = call.param("id")): Promise<Group> {
  if (typeof id !== "string" || !isUuidLike(id)) {
    throw badRequest("Security group id should be uuid");
  }
  const group: NetworkRecord | undefined = await findNetworkRecord(call, `/security-groups/${id.toLowerCase()}`);
  if (group === undefined) {
    throw notFound(`Security group ${id} does not exist`);
  }
  return group as unknown as Group;
}

/** Runs a request and converts errors of the Network API to the proxy's statuses. */
async function proxied<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof HttpError && error.status === 409 ? forbidden(error.message) : error;
  }
}

function memberOf(call: Call, key: string): Readonly<Record<string, unknown>> {
  const body = call.json();
  const value = isObject(body) ? (body[key] ?? undefined) : undefined;
  if (!isObject(value)) {
    throw badRequest(value === undefined ? `Missing parameter ${key}` : `Invalid input for ${key}: expected an object`);
  }
  return value;
}
