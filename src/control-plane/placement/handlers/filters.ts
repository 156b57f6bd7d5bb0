import { badRequest, type HttpError } from "../../http/http-error.js";
import { isUuidLike } from "../../python/uuid.js";
import type { Call } from "../http/call.js";

/** Matches providers that have at least one trait of each required set and no forbidden trait. */
export interface TraitFilter {
  readonly required: readonly ReadonlySet<string>[];
  readonly forbidden: ReadonlySet<string>;
}

/** Matches providers that are in at least one aggregate (UUID) of each required set and in no forbidden one. */
export interface AggregateFilter {
  readonly required: readonly ReadonlySet<string>[];
  readonly forbidden: ReadonlySet<string>;
}

/**
 * Parses `VCPU:2,MEMORY_MB:1024` to amounts by class.
 * @throws {HttpError} 400
 */
export function resources(text: string): Map<string, number> {
  const form =
    "Badly formed resources parameter. Expected resources query string parameter in form: ?resources=VCPU:2,MEMORY_MB:1024. Got: ";
  if (text.trim() === "") {
    throw badRequest(`${form}empty string.`);
  }
  const result = new Map<string, number>();
  for (const item of text.split(",")) {
    const parts = item.split(":");
    const [name, amountText] = parts;
    if (parts.length !== 2 || name === undefined || amountText === undefined) {
      throw badRequest(`${form}${item}.`);
    }
    const amount = pythonInt(amountText);
    if (amount === undefined) {
      throw badRequest(`Requested resource ${name} expected positive integer amount. Got: ${amountText}.`);
    }
    if (amount < 1) {
      throw badRequest(`Requested resource ${name} requires amount >= 1. Got: ${amount}.`);
    }
    result.set(name, amount);
  }
  return result;
}

/** Parses the parameter `required` of a group. */
export function traits(call: Call, suffix: string): TraitFilter {
  const all = call.query.all(`required${suffix}`);
  const required: ReadonlySet<string>[] = [];
  const forbidden = new Set<string>();
  // Before 1.39, only the last of several values applies.
  for (const text of call.minor >= 39 ? all : all.slice(-1)) {
    const parsed = parseTraits(text, call.minor >= 22, call.minor >= 39);
    required.push(...parsed.required);
    for (const trait of parsed.forbidden) {
      forbidden.add(trait);
    }
  }
  return { required, forbidden };
}

/** @throws {HttpError} 400 */
export function parseTraits(text: string, allowForbidden: boolean, allowAny: boolean): TraitFilter {
  const invalidQuery = (reason: string): HttpError => badRequest(`Invalid query string parameters: ${reason}`);
  if (text.startsWith("in:")) {
    const form = "The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC'";
    if (!allowAny) {
      throw invalidQuery(`${form} only supported since microversion 1.39. Got: ${text}`);
    }
    const any = new Set(split(text.slice(3)));
    if (any.has("")) {
      const expected = "Expected 'required' parameter value of the form: in:HW_CPU_X86_VMX,CUSTOM_MAGIC.";
      throw invalidQuery(`${expected} Got an empty trait in: ${text}`);
    }
    if ([...any].some((trait) => trait.startsWith("!"))) {
      throw invalidQuery(`${form} does not support forbidden traits. Got: ${text}`);
    }
    return { required: [any], forbidden: new Set() };
  }
  const all = split(text);
  const forbidden = new Set(all.filter((trait) => trait.startsWith("!")).map((trait) => trait.replace(/^!+/, "")));
  if (forbidden.has("") || all.includes("")) {
    const form = allowForbidden ? "HW_CPU_X86_VMX,!CUSTOM_MAGIC" : "HW_CPU_X86_VMX,CUSTOM_MAGIC";
    throw invalidQuery(`Expected 'required' parameter value of the form: ${form}. Got an empty trait in: ${text}`);
  }
  if (forbidden.size > 0 && !allowForbidden) {
    const expected = "Expected 'required' parameter value of the form: HW_CPU_X86_VMX,CUSTOM_MAGIC.";
    throw invalidQuery(`${expected} Got: ${text}`);
  }
  return { required: all.filter((trait) => !trait.startsWith("!")).map((trait) => new Set([trait])), forbidden };
}

/** Python's `int(text)`; undefined where Python raises an error. */
export function pythonInt(text: string): number | undefined {
  const trimmed = text.trim();
  return /^[-+]?[0-9]+(?:_[0-9]+)*$/.test(trimmed) ? Number(trimmed.replaceAll("_", "")) : undefined;
}

function split(text: string): string[] {
  return text.split(",").map((part) => part.trim());
}

/** Parses the parameter `member_of` of a group. */
export function memberOf(call: Call, suffix: string): AggregateFilter {
  const values = call.query.all(`member_of${suffix}`);
  if (call.minor < 24 && values.length > 1) {
    throw badRequest(`Multiple member_of${suffix} parameters are not supported`);
  }
  const required: ReadonlySet<string>[] = [];
  const forbidden = new Set<string>();
  for (const value of values) {
    const { negative, uuids } = parseMemberOf(value);
    if (!negative) {
      required.push(uuids);
      continue;
    }
    if (call.minor < 32) {
      throw badRequest(`Forbidden member_of${suffix} parameters are not supported in the specified microversion`);
    }
    for (const uuid of uuids) {
      forbidden.add(uuid);
    }
  }
  return { required, forbidden };
}

function parseMemberOf(value: string): { negative: boolean; uuids: ReadonlySet<string> } {
  const list = value.startsWith("in:") || value.startsWith("!in:");
  if (value.includes(",") && !list) {
    throw badRequest(
      `Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword using the valid microversion. Got: ${value}`,
    );
  }
  const negative = value.startsWith("!");
  const rest = negative ? value.slice(1) : value;
  const uuids = new Set(list ? rest.slice(3).split(",") : [rest]);
  for (const uuid of uuids) {
    if (!isUuidLike(uuid)) {
      throw badRequest(
        `Invalid query string parameters: Expected 'member_of' parameter to contain valid UUID(s). Got: ${uuid}`,
      );
    }
  }
  return { negative, uuids };
}

/**
 * Returns the UUID in an `in_tree` parameter.
 * @throws {HttpError} 400
 */
export function inTree(value: string): string {
  const uuid = value.trim();
  if (isUuidLike(uuid)) {
    return uuid;
  }
  throw badRequest(
    `Invalid query string parameters: Expected 'in_tree' parameter to be a format of uuid. Got: ${value}`,
  );
}
