import { addRule } from "../../network/security-groups/new-rule.js";
import { isIpV6 } from "../../network/security-groups/remote-prefix.js";
import { addressOf } from "../../store/flat-subnet.js";
import type { NewRule } from "../../store/security-groups.js";
import type { Call, ComputeResponse } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { badRequest, notFound } from "../api/fault.js";
import { isUuidLike } from "../api/formats.js";
import { requireMember } from "../api/policy.js";
import { findOwn, memberOf, policy, proxied } from "./proxy.js";
import { portsOf, ruleView } from "./security-group-view.js";

type Protocol = Pick<NewRule, "protocol" | "portMin" | "portMax">;

/** What lets everything in that the protocol has, or any. */
const ANYTHING: Protocol = { protocol: null, portMin: null, portMax: null };

/** POST /os-security-group-rules: an ingress rule, from a network or from a group. */
export function createRule({ store }: ComputeDeps, call: Call): ComputeResponse {
  requireMember(call, policy("rule:create"));
  const body = memberOf(call, "security_group_rule");
  const group = findOwn(store, call, body.parent_group_id);
  const source = (body.group_id ?? undefined) === undefined ? null : findOwn(store, call, body.group_id);
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

/** DELETE /os-security-group-rules/{id} */
export function deleteRule({ store }: ComputeDeps, call: Call): ComputeResponse {
  requireMember(call, policy("rule:delete"));
  const id = call.param("id");
  if (!isUuidLike(id)) {
    throw badRequest("Security group id should be uuid");
  }
  const rule = store.securityGroups.rule(id.toLowerCase());
  if (!rule || !(call.isAdmin || rule.projectId === call.credentials.projectId)) {
    throw notFound(`Security group rule ${id} does not exist`);
  }
  store.securityGroups.destroyRule(rule.uuid);
  return { status: 202 };
}

/** @throws {Fault} 400 */
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

/** Null: a rule for a network has to name protocol and ports. @throws {Fault} 400 */
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
