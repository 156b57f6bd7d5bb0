import { isObject } from "../../runtime/collections.js";
import { claimsToBeObject, MalformedObject, type NovaObject, objectOf } from "./primitive.js";
import type { ReleaseProfile } from "./profile.js";

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
