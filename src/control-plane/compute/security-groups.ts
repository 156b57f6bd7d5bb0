import { isConductorError } from "../../conductor-client/errors.js";
import { isObject } from "../../runtime/collections.js";
import { badRequest, forbidden, HttpError, notFound } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { routes } from "../http/router.js";
import { isIpV6 } from "../network/security-group-rule-values.js";
import { addRule } from "../network/security-group-rules.js";
import { changeGroup, newGroup, removeGroup } from "../network/security-groups.js";
import { addressOf } from "../store/network-settings.js";
import type { NewRule, SecurityGroup, SecurityGroupRule } from "../store/security-groups.js";
import type { Store } from "../store/store.js";
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
import { findServer } from "./servers/find-server.js";

/** Last minor microversion with proxies of the Network API. */
export const LAST_PROXY = 35;

const policy = (what: string): string => `os_compute_api:os-security-groups:${what}`;

type Protocol = Pick<NewRule, "protocol" | "portMin" | "portMax">;

/** Matches every protocol and port. */
const ANYTHING: Protocol = { protocol: null, portMin: null, portMax: null };

/** Nova's proxy of security groups. */
export const SECURITY_GROUP_ROUTES = routes<ComputeRoute>({
  "GET /os-security-groups": { until: LAST_PROXY, handle: list },
  "POST /os-security-groups": { until: LAST_PROXY, handle: create },
  "GET /os-security-groups/:id": {
    until: LAST_PROXY,
    handle: (call) => {
      requireReader(call, policy("show"));
      return { body: { security_group: groupView(call.store, findOwn(call)) } };
    },
  },
  "PUT /os-security-groups/:id": { until: LAST_PROXY, handle: update },
  "DELETE /os-security-groups/:id": { until: LAST_PROXY, handle: destroy },
  "POST /os-security-group-rules": { until: LAST_PROXY, handle: createRule },
  "DELETE /os-security-group-rules/:id": { until: LAST_PROXY, handle: deleteRule },
  "GET /servers/:id/os-security-groups": (call) => {
    const { instance } = findServer(call);
    requireReader(call, policy("list"));
    const { store } = call;
    const uuids = store.ports.ofDevice(instance.uuid).flatMap(({ securityGroups }) => securityGroups);
    const groups = uuids.flatMap((uuid) => store.securityGroups.get(uuid) ?? []);
    return { body: { security_groups: sorted(groups).map((group) => groupView(store, group)) } };
  },
});

function list(call: Call): ComputeResponse {
  const { store } = call;
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

function create(call: Call): ComputeResponse {
  requireMember(call, policy("create"));
  const { projectId } = call.credentials;
  if (projectId === null) {
    throw denied(policy("create"));
  }
  const attributes = namesIn(memberOf(call, "security_group"));
  const group = proxied(() => newGroup(call.store, { ...attributes, projectId }));
  return { body: { security_group: groupView(call.store, group) } };
}

function update(call: Call): ComputeResponse {
  const { store } = call;
  requireMember(call, policy("update"));
  const group = findOwn(call);
  const attributes = namesIn(memberOf(call, "security_group"));
  const changed = proxied(() => changeGroup(store, group, attributes));
  return { body: { security_group: groupView(store, changed) } };
}

function destroy(call: Call): ComputeResponse {
  requireMember(call, policy("delete"));
  const group = findOwn(call);
  try {
    removeGroup(call.store, group, call.isAdmin);
  } catch (error) {
    throw error instanceof HttpError || isConductorError(error, "SecurityGroupInUse")
      ? badRequest(error.message)
      : error;
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
function createRule(call: Call): ComputeResponse {
  const { store } = call;
  requireMember(call, policy("rule:create"));
  const body = memberOf(call, "security_group_rule");
  const group = findOwn(call, body.parent_group_id);
  const source = (body.group_id ?? undefined) === undefined ? null : findOwn(call, body.group_id);
  const cidr = source ? null : readCidr(body.cidr);
  const protocol = readProtocol(body, source !== null);
  if (protocol === null) {
    throw badRequest("Not enough parameters to build a valid rule.");
  }
  const newRule = {
    projectId: group.projectId,
    groupUuid: group.uuid,
    direction: "ingress",
    ethertype: cidr?.includes(":") ? "IPv6" : "IPv4",
    ...protocol,
    remotePrefix: cidr,
    remoteGroup: source?.uuid ?? null,
    description: "",
  } as const;
  const same = store.securityGroups.rulesOf(group.uuid).some((rule) => {
    const [there, requestedPorts] = [portsOf(rule), portsOf(protocol)];
    const sameSource =
      rule.remoteGroup === newRule.remoteGroup && (rule.remotePrefix ?? "0.0.0.0/0") === (cidr ?? "0.0.0.0/0");
    return (
      rule.direction === "ingress" &&
      rule.protocol === protocol.protocol &&
      sameSource &&
      there.from === requestedPorts.from &&
      there.to === requestedPorts.to
    );
  });
  if (same) {
    throw badRequest(`This rule already exists in group ${group.uuid}`);
  }
  const rule = proxied(() => addRule({ store, caller: call.credentials }, newRule));
  return { body: { security_group_rule: ruleView(store, rule) } };
}

/** Handles DELETE /os-security-group-rules/{id}. */
function deleteRule(call: Call): ComputeResponse {
  requireMember(call, policy("rule:delete"));
  const id = call.param("id");
  if (!isUuidLike(id)) {
    throw badRequest("Security group id should be uuid");
  }
  const rule = call.store.securityGroups.rule(id.toLowerCase());
  if (!rule || !(call.isAdmin || rule.projectId === call.credentials.projectId)) {
    throw notFound(`Security group rule ${id} does not exist`);
  }
  call.store.securityGroups.destroyRule(rule.uuid);
  return { status: 202 };
}

function readCidr(value: unknown): string {
  if (value === undefined || value === null || value === "") {
    return "0.0.0.0/0";
  }
  const text = String(value);
  const [, address = "", length = ""] = /^([^/]{2,45})\/(\d{1,3})$/.exec(text) ?? [];
  const bits = addressOf(address) !== undefined ? 32 : isIpV6(address) ? 128 : -1;
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
  return { protocol: upper.toLowerCase(), portMin: port(min), portMax: port(max) };
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

/** Renders a group for Nova's proxy: with ingress rules only. */
function groupView(store: Store, { uuid, name, description, projectId }: SecurityGroup): Json {
  const rules = store.securityGroups.rulesOf(uuid).filter(({ direction }) => direction === "ingress");
  return { id: uuid, description, name, tenant_id: projectId, rules: rules.map((rule) => ruleView(store, rule)) };
}

function ruleView(store: Store, rule: SecurityGroupRule): Json {
  const source = rule.remoteGroup === null ? null : store.securityGroups.get(rule.remoteGroup);
  const { from, to } = portsOf(rule);
  return {
    id: rule.uuid,
    parent_group_id: rule.groupUuid,
    ip_protocol: rule.protocol,
    from_port: from,
    to_port: to,
    group: source ? { name: source.name, tenant_id: source.projectId } : {},
    ip_range: source ? {} : { cidr: rule.remotePrefix ?? "0.0.0.0/0" },
  };
}

/**
 * Returns the ports to render. All ports of a protocol are its first and last one, or -1 for a protocol without ports.
 */
function portsOf({ protocol, portMin, portMax }: Pick<SecurityGroupRule, "protocol" | "portMin" | "portMax">) {
  if (protocol === null || portMin !== null || portMax !== null) {
    return { from: portMin, to: portMax };
  }
  return ["tcp", "udp"].includes(protocol) ? { from: 1, to: 65_535 } : { from: -1, to: -1 };
}

/** Returns the group that the path or body names, if the caller may see it. @throws {HttpError} 400, 404 */
function findOwn(call: Call, id: unknown = call.param("id")): SecurityGroup {
  if (typeof id !== "string" || !isUuidLike(id)) {
    throw badRequest("Security group id should be uuid");
  }
  const group = call.store.securityGroups.get(id.toLowerCase());
  if (!group || !(call.isAdmin || group.projectId === call.credentials.projectId)) {
    throw notFound(`Security group ${id} does not exist`);
  }
  return group;
}

/** Runs `work` and converts errors of the Network API to the proxy's statuses. */
function proxied<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof HttpError) {
      throw new HttpError(error.status === 409 ? 403 : error.status, error.message);
    }
    const fault = error instanceof Error && error.name === "SecurityGroupDefaultAlreadyExists";
    throw fault ? forbidden(error.message) : error;
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
