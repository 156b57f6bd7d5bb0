import { isObject } from "../../runtime/collections.js";
import type { ReleaseProfile } from "./profile.js";

/** A versioned object of Nova as it is sent (oslo.versionedobjects). Fields that are not set are absent, which is not null. */
export interface NovaObject {
  readonly "nova_object.name": string;
  readonly "nova_object.namespace": string;
  readonly "nova_object.version": string;
  readonly "nova_object.data": ObjectData;
  /** Fields that their holder has set and not saved; in no order; absent: none. */
  readonly "nova_object.changes"?: readonly string[];
}

export type ObjectData = Readonly<Record<string, unknown>>;

const NAME = "nova_object.name";

/** What was sent is no object, or not of the kind that belongs there. */
export class MalformedObject extends Error {
  override readonly name = "MalformedObject";
}

/** Whether a value claims to be an object; only {@link objectOf} says that it is one. @internal */
export function claimsToBeObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && Object.hasOwn(value, NAME);
}

/** @throws {MalformedObject} when it is none, or one of another name */
export function objectOf(value: unknown, name?: string): NovaObject {
  if (!isNovaObject(value)) {
    throw new MalformedObject(`expected ${name ?? "an object of Nova"}, found ${described(value)}`);
  }
  if (name !== undefined && value[NAME] !== name) {
    throw new MalformedObject(`expected ${name}, found ${value[NAME]}`);
  }
  return value;
}

/** The objects of a list object, such as InstanceList. @throws {MalformedObject} */
export function listedObjects(value: unknown, name: string): readonly NovaObject[] {
  const { objects } = objectOf(value, name)["nova_object.data"];
  if (!Array.isArray(objects)) {
    throw new MalformedObject(`${name} has no list of objects`);
  }
  return objects.map((item) => objectOf(item));
}

/** @param changes default: every field that is given */
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

/** The object with other values laid over its own; they count as saved. */
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

/** Its kind alone: objects carry passwords. */
function described(value: unknown): string {
  return Array.isArray(value) ? "a list" : value === null ? "null" : `a ${typeof value}`;
}

/**
 * An object that the control plane cannot read, whatever is left out of it.
 * @internal for tests
 */
export class ObjectTooNew extends Error {
  override readonly name = "ObjectTooNew";
}

/** Fields that an object has since a version; one that is said to be older must not have them. */
const FIELDS_SINCE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Instance: { compute_id: "2.8" },
  Migration: { dest_compute_id: "1.8" },
};

/** Deeper than any message of Nova. */
const DEEPEST = 100;

/**
 * The value with every object in it, at any depth, at a version that the profile has. A conductor answers an object that is newer by
 * asking itself to backport it, in an endless chain that stops the cloud: what leaves the process passes here (`oslo-message.ts`).
 * A newer minor version becomes the profile's: its new fields are dropped where they are known, and ignored by the reader elsewhere.
 * @throws {ObjectTooNew} of a newer major version, or one that the profile has not at all
 * @throws {MalformedObject} something that only looks like an object
 */
export function capToProfile(value: unknown, profile: ReleaseProfile, depth = 0): unknown {
  if (depth > DEEPEST) {
    throw new MalformedObject(`a message is nested more than ${DEEPEST} deep`);
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
    throw new ObjectTooNew(`a control plane of ${profile.release} has no object ${namespace}.${name}`);
  }
  const [major, minor] = parsed(version);
  const [newestMajor, newestMinor] = parsed(newest);
  if (major > newestMajor) {
    throw new ObjectTooNew(
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

/** Whether an object of the profile has a field. */
export function hasField(profile: ReleaseProfile, name: string, field: string): boolean {
  const since = FIELDS_SINCE[name]?.[field];
  return since === undefined || parsed(profile.objects.get(name) ?? "0.0")[1] >= parsed(since)[1];
}

function parsed(version: string): readonly [major: number, minor: number] {
  const [, major, minor] = /^(\d{1,6})\.(\d{1,6})$/.exec(version) ?? [];
  if (major === undefined || minor === undefined) {
    throw new MalformedObject(`"${version.slice(0, 40)}" is no version of an object`);
  }
  return [Number(major), Number(minor)];
}
