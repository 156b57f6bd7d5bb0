import { isObject } from "../../runtime/collections.js";
import { NovaRpcError } from "../errors.js";
import type { ReleaseProfile } from "./profile.js";

/** A serialised versioned object of Nova (oslo.versionedobjects). Unset fields are absent, which differs from null. */
export interface NovaObject {
  readonly "nova_object.name": string;
  readonly "nova_object.namespace": string;
  readonly "nova_object.version": string;
  readonly "nova_object.data": ObjectData;
  /** Names of fields that were set and not saved, in any order; absent if there are none. */
  readonly "nova_object.changes"?: readonly string[];
}

export type ObjectData = Readonly<Record<string, unknown>>;

const NAME = "nova_object.name";

/** Whether a value has the key of an object; only {@link objectOf} validates it. @internal */
export function claimsToBeObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && Object.hasOwn(value, NAME);
}

/** @throws {MalformedObject} the value is not an object, or has another name */
export function objectOf(value: unknown, name?: string): NovaObject {
  if (!isNovaObject(value)) {
    throw new NovaRpcError("MalformedObject", `expected ${name ?? "an object of Nova"}, found ${described(value)}`);
  }
  if (name !== undefined && value[NAME] !== name) {
    throw new NovaRpcError("MalformedObject", `expected ${name}, found ${value[NAME]}`);
  }
  return value;
}

/** Returns the objects of a list object, such as InstanceList. @throws {MalformedObject} */
export function listedObjects(value: unknown, name: string): readonly NovaObject[] {
  const { objects } = objectOf(value, name)["nova_object.data"];
  if (!Array.isArray(objects)) {
    throw new NovaRpcError("MalformedObject", `${name} has no list of objects`);
  }
  return objects.map((item) => objectOf(item));
}

/** @param changes default: every field in `data` */
export function novaObject(
  name: string,
  version: string,
  data: ObjectData,
  changes: readonly string[] = Object.keys(data),
): NovaObject {
  return {
    [NAME]: name,
    "nova_object.namespace": "nova",
    "nova_object.version": version,
    "nova_object.data": data,
    ...(changes.length > 0 ? { "nova_object.changes": changes } : {}),
  };
}

/** Returns the object with its values overwritten; the overwritten fields count as saved. */
export function overlaid(object: NovaObject, values: ObjectData): NovaObject {
  const left = (object["nova_object.changes"] ?? []).filter((field) => !Object.hasOwn(values, field));
  const { [NAME]: name, "nova_object.version": version, "nova_object.data": data } = object;
  return novaObject(name, version, { ...data, ...values }, left);
}

function isNovaObject(value: unknown): value is NovaObject {
  if (!isObject(value)) {
    return false;
  }
  const changes = value["nova_object.changes"];
  return (
    typeof value[NAME] === "string" &&
    typeof value["nova_object.namespace"] === "string" &&
    typeof value["nova_object.version"] === "string" &&
    isObject(value["nova_object.data"]) &&
    (changes === undefined || (Array.isArray(changes) && changes.every((field) => typeof field === "string")))
  );
}

/** Returns only the kind of a value, since objects may contain passwords. */
function described(value: unknown): string {
  return Array.isArray(value) ? "a list" : value === null ? "null" : `a ${typeof value}`;
}

/** The version in which a field was added; an object of an older version must not have it. */
const FIELDS_SINCE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Instance: { compute_id: "2.8" },
  Migration: { dest_compute_id: "1.8" },
};

/** Deeper than any message of Nova. */
const DEEPEST = 100;

/**
 * Returns the value with every object in it, at any depth, converted to a version of the profile. Every outgoing message
 * passes here (`oslo-message.ts`): a conductor handles a newer object by requesting a backport from itself, in an endless
 * chain that stops the cloud. A newer minor version becomes the profile's: its known new fields are dropped; readers ignore
 * others.
 * @throws {ObjectTooNew} the object has a newer major version, or does not exist in the profile
 * @throws {MalformedObject} the value resembles an object and is invalid
 */
export function capToProfile(value: unknown, profile: ReleaseProfile, depth = 0): unknown {
  if (depth > DEEPEST) {
    throw new NovaRpcError("MalformedObject", `a message is nested more than ${DEEPEST} deep`);
  }
  if (Array.isArray(value)) {
    return value.map((item) => capToProfile(item, profile, depth + 1));
  }
  if (!isObject(value)) {
    return value;
  }
  const inner = Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, capToProfile(item, profile, depth + 1)]),
  );
  return claimsToBeObject(inner) ? capObject(objectOf(inner), profile) : inner;
}

function capObject(object: NovaObject, profile: ReleaseProfile): NovaObject {
  const { "nova_object.name": name, "nova_object.namespace": namespace, "nova_object.version": version } = object;
  const newest = profile.objects.get(name);
  if (namespace !== "nova" || newest === undefined) {
    throw new NovaRpcError("ObjectTooNew", `a control plane of ${profile.release} has no object ${namespace}.${name}`);
  }
  const [major, minor] = parsed(version);
  const [newestMajor, newestMinor] = parsed(newest);
  if (major > newestMajor) {
    throw new NovaRpcError(
      "ObjectTooNew",
      `${name} ${version} is newer than ${newest}, which a control plane of ${profile.release} has`,
    );
  }
  return major === newestMajor && minor > newestMinor ? lowered(object, newest) : object;
}

function lowered(object: NovaObject, version: string): NovaObject {
  const [, minor] = parsed(version);
  const newer = Object.entries(FIELDS_SINCE[object["nova_object.name"]] ?? {})
    .filter(([, since]) => parsed(since)[1] > minor)
    .map(([field]) => field);
  const isSupported = (field: string) => !newer.includes(field);
  const { "nova_object.data": data, "nova_object.changes": changes } = object;
  return {
    ...object,
    "nova_object.version": version,
    "nova_object.data": Object.fromEntries(Object.entries(data).filter(([field]) => isSupported(field))),
    ...(changes === undefined ? {} : { "nova_object.changes": changes.filter(isSupported) }),
  };
}

/** Returns whether an object of the profile has a field. */
export function hasField(profile: ReleaseProfile, name: string, field: string): boolean {
  const since = FIELDS_SINCE[name]?.[field];
  return since === undefined || parsed(profile.objects.get(name) ?? "0.0")[1] >= parsed(since)[1];
}

function parsed(version: string): readonly [major: number, minor: number] {
  const [, major, minor] = /^(\d{1,6})\.(\d{1,6})$/.exec(version) ?? [];
  if (major === undefined || minor === undefined) {
    throw new NovaRpcError("MalformedObject", `"${version.slice(0, 40)}" is not the version of an object`);
  }
  return [Number(major), Number(minor)];
}
