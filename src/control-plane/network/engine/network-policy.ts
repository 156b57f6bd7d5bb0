import { isDeepStrictEqual } from "node:util";
import { isObject } from "../../../runtime/collections.js";
import { HttpError, notFound } from "../../http/http-error.js";
import { createPolicy } from "../../policy/policy.js";
import { NETWORK_POLICIES } from "../policies.js";
import type { NetworkContext } from "./network-context.js";
import { recordNotFound } from "./network-errors.js";
import type { NetworkAttribute, NetworkResource, Parent } from "./network-resource.js";
import { sharedIds } from "./sharing.js";

const POLICY = createPolicy<string>(NETWORK_POLICIES);

export type Target = Readonly<Record<string, unknown>>;

/** The policy name of an operation: `create_security_group`, with attributes `create_network:shared`. */
export function ruleOf(operation: string, { policyName, singular }: NetworkResource): string {
  return `${operation}_${policyName ?? singular}`;
}

/** Whether a rule has another value than "every authenticated caller may". */
const isRule = (name: string): boolean => Object.hasOwn(NETWORK_POLICIES, name);

/**
 * Returns whether the caller may do something with a record, or with the attributes of a request.
 * @param target attributes of the record, with the request's on top of them
 */
export function isAllowed(context: NetworkContext, rule: string, resource: NetworkResource, target: Target): boolean {
  if (context.caller.isInternal) {
    return true;
  }
  const known = isRule(rule) ? rule : "default";
  return (
    decideForAll(context, known) ??
    evaluate(context, known, {
      target: policyTarget(context, resource, target),
      field: (owner, name) => fieldOf(context, resource, target, owner, name),
    })
  );
}

/**
 * Returns the attributes that Neutron reads for a policy: the requested ones, and those that policies need. A shared QoS
 * policy, for example, is hidden unless its `shared` is requested.
 * @param fields names of the requested attributes; empty: all
 */
export function readTarget(
  { attributes, parent }: NetworkResource,
  target: Target,
  fields: ReadonlySet<string>,
): Target {
  if (fields.size === 0) {
    return target;
  }
  const isRead = (name: string) =>
    fields.has(name) || attributes[name]?.requiredByPolicy === true || name === parent?.attribute || name === "id";
  const owner = isRead("project_id") || fields.has("tenant_id");
  return Object.fromEntries(
    Object.entries(target).map(([name, value]) => [
      name,
      (name === "project_id" ? owner : isRead(name)) ? value : null,
    ]),
  );
}

/** Returns the caller's permission if no target can change it, as for administrators. A list asks for each record. */
function decideForAll(context: NetworkContext, rule: string): boolean | undefined {
  const { decisions } = context;
  if (!decisions.has(rule)) {
    const { isFixed, isMonotonic } = kindOf(rule);
    const isAllowedWithoutTarget = isMonotonic && evaluate(context, rule, { target: {} });
    decisions.set(rule, isAllowedWithoutTarget || (isFixed ? evaluate(context, rule, { target: {} }) : undefined));
  }
  return decisions.get(rule);
}

function evaluate(
  { caller }: NetworkContext,
  rule: string,
  target: Pick<Parameters<typeof POLICY.allows>[1], "target" | "field">,
): boolean {
  return POLICY.allows(rule, {
    credentials: { project_id: caller.projectId, tenant_id: caller.projectId, roles: caller.roles },
    roles: new Set(caller.roles),
    ...target,
  });
}

interface RuleKind {
  /** Whether it does not depend on a target. */
  readonly isFixed: boolean;
  /** Whether a target can only add permissions. */
  readonly isMonotonic: boolean;
}

function kindOf(rule: string): RuleKind {
  const text = NETWORK_POLICIES[rule] ?? "!";
  const inner = [...text.matchAll(/rule:([\w:-]+)/g)].map(([, name = ""]) => kindOf(name));
  return {
    isFixed: !/%\(|field:/.test(text) && inner.every(({ isFixed }) => isFixed),
    isMonotonic: !/\bnot\b/.test(text) && inner.every(({ isMonotonic }) => isMonotonic),
  };
}

/**
 * Checks a rule, such as `create_port`, and those of the attributes that a request contains. A member action is a
 * request with all attributes of its record.
 * @throws {HttpError} 403
 */
export function enforceRequest(
  context: NetworkContext,
  rule: string,
  resource: NetworkResource,
  { body, target, isUpdate = false }: RequestedAttributes,
): void {
  if (context.caller.isInternal) {
    return;
  }
  let required: RequiredRules = { rules: [rule], text: `rule:${rule}` };
  for (const [name, attribute] of Object.entries(resource.attributes)) {
    // Neutron does not know the attributes of sub-resources here.
    const isRuled = attribute.policy === true && resource.parent === undefined;
    if (isRuled && Object.hasOwn(body, name) && (isUpdate || isExplicit(attribute, body[name]))) {
      required = bothOf(required, attributeRules(`${rule}:${name}`, attribute, body[name]));
    }
  }
  enforceRules(context, required, resource, target);
}

interface RequestedAttributes {
  /** Those that the request itself contains. */
  readonly body: Target;
  readonly target: Target;
  /** Whether each attribute counts, also one that has its default. */
  readonly isUpdate?: boolean;
}

/** Checks a rule. @throws {HttpError} 403 */
export function enforceRule(context: NetworkContext, rule: string, resource: NetworkResource, target: Target): void {
  if (!context.caller.isInternal) {
    enforceRules(context, { rules: [rule], text: `rule:${rule}` }, resource, target);
  }
}

/** Rules that a request needs, with the text that Neutron's error has for them. */
interface RequiredRules {
  readonly rules: readonly string[];
  readonly text: string;
}

function bothOf(first: RequiredRules, second: RequiredRules): RequiredRules {
  return { rules: [...first.rules, ...second.rules], text: `(${first.text} and ${second.text})` };
}

function enforceRules(
  context: NetworkContext,
  { rules, text }: RequiredRules,
  resource: NetworkResource,
  target: Target,
) {
  if (!rules.every((rule) => isAllowed(context, rule, resource, target))) {
    throw new HttpError(403, `${text} is disallowed by policy`, { code: "PolicyNotAuthorized" });
  }
}

/** A create that gives an attribute its default needs no permission. */
function isExplicit(attribute: NetworkAttribute, value: unknown): boolean {
  return value !== undefined && !isDeepStrictEqual(value, attribute.default);
}

/** Members of an attribute may have rules of their own: `create_port:fixed_ips:ip_address`. */
function attributeRules(rule: string, attribute: NetworkAttribute, value: unknown): RequiredRules {
  const names = membersOf(attribute, value)?.map((key) => `${rule}:${key}`);
  const own: RequiredRules = { rules: [rule].filter(isRule), text: `rule:${rule}` };
  return names === undefined
    ? own
    : bothOf(own, { rules: names.filter(isRule), text: `(${names.map((name) => `rule:${name}`).join(" and ")})` });
}

/**
 * Returns the keys of a list's members, or those of a dictionary's keys that the attribute describes; undefined if the
 * value has no members with rules.
 */
function membersOf({ type }: NetworkAttribute, value: unknown): readonly string[] | undefined {
  if (Array.isArray(value)) {
    const keys = value.filter(isObject).flatMap((member) => Object.keys(member));
    return keys.length === 0 ? undefined : keys;
  }
  const { validator = "", parameter } = type;
  const isDescribed = validator.startsWith("type:dict") && isObject(parameter) && isObject(value);
  return isDescribed ? Object.keys(parameter).filter((key) => Object.hasOwn(value, key)) : undefined;
}

/** Returns Neutron's error for a record that the caller may not read: the same as for an unknown path. */
export const hidden = (): HttpError => notFound();

/**
 * The attributes that rules name. Those of other records are read only if a rule needs them; a rule about a record that
 * does not exist is a 404.
 */
function policyTarget(
  context: NetworkContext,
  { parent }: NetworkResource,
  target: Target,
): Readonly<Record<string, string | null | undefined>> {
  const owner = text(target.project_id);
  const ownerOf = (collection: string, id: unknown): string | undefined =>
    typeof id === "string" ? projectOf(context, collection, id) : undefined;
  return Object.defineProperties(
    { project_id: owner, tenant_id: owner },
    {
      "network:project_id": { get: () => ownerOf("networks", target.network_id) },
      "security_group:project_id": { get: () => ownerOf("security_groups", target.security_group_id) },
      "ext_parent:project_id": {
        get: () => (parent ? ownerOfParent(context, parent, String(target[parent.attribute])) : undefined),
      },
    },
  );
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** @throws {HttpError} 404: a rule that names an unknown parent has no result */
function ownerOfParent(context: NetworkContext, { collection }: Parent, id: string): string | undefined {
  const resource = context.services.registry.find(collection);
  if (resource !== undefined && context.table(resource).get(id) === undefined) {
    throw recordNotFound(resource, id);
  }
  return projectOf(context, collection, id);
}

function projectOf(context: NetworkContext, collection: string, id: string): string | undefined {
  const resource = context.services.registry.find(collection);
  if (resource === undefined) {
    return undefined;
  }
  const record = context.table(resource).get(id);
  if (record === undefined) {
    throw recordNotFound(resource, id);
  }
  const project: unknown = Reflect.get(record, "project_id");
  return typeof project === "string" ? project : undefined;
}

/** Returns an attribute for a `field:` check: of the target itself, or of the network that it belongs to. */
function fieldOf(context: NetworkContext, resource: NetworkResource, target: Target, owner: string, name: string) {
  const isOwn = owner === resource.collection || owner === resource.singular;
  if (isOwn && target[name] !== undefined) {
    return target[name];
  }
  const other = context.services.registry.find(owner);
  const id = isOwn ? target.id : target[`${other?.singular ?? owner}_id`];
  if (other === undefined || typeof id !== "string") {
    return undefined;
  }
  if (name === "shared" && other.rbac) {
    return sharedIds(context, other, [id]).has(id);
  }
  const record = context.table(other).get(id);
  const [computed] = record
    ? (context.services.registry.behaviourOf(other).compute?.(context, [record as never]) ?? [])
    : [];
  return record === undefined ? undefined : (computed?.[name] ?? Reflect.get(record, name));
}
