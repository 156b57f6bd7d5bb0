import type { Flavor, InstanceChanges } from "../../records/index.js";
import { isObject } from "../../runtime/collections.js";
import { FLAVOR_OBJECT } from "../objects/flavor.js";
import type { ObjectData } from "../objects/primitive.js";
import type { ReleaseProfile } from "../objects/profile.js";
import { readRecord, writeRecord } from "../objects/record-object.js";

/** Nova's fields, and what the record calls them. */
const FLAVORS = { flavor: "flavor", old_flavor: "oldFlavor", new_flavor: "newFlavor" } as const;

const FLAVOR_FIELDS = Object.keys(FLAVORS);

/** Whether a save changes one of the three. @param left what the sender of a message has left to be saved with it */
export function changesFlavors(changes: InstanceChanges, left: ObjectData): boolean {
  return Object.entries(FLAVORS).some(([name, field]) => changes[field] !== undefined || left[name] !== undefined);
}

/**
 * All three flavors of an instance. They are one column: a conductor that gets only some of them reads the others, and thereby
 * overwrites what it got with what it had.
 * @param known the instance's, as it was read last
 * @param messageFlavors flavors that came as Nova has them, with fields that the record does not have
 */
export function flavorsToSave(
  changes: InstanceChanges,
  known: ObjectData,
  messageFlavors: readonly unknown[],
  profile: ReleaseProfile,
): ObjectData {
  const candidates = [...FLAVOR_FIELDS.map((field) => known[field]), ...messageFlavors].filter(isObject);
  const entries = Object.entries(FLAVORS).map(([field, name]) => {
    const flavor = changes[name];
    if (flavor === undefined || flavor === null) {
      return [field, flavor === undefined ? (known[field] ?? null) : null];
    }
    return [
      field,
      candidates.find((candidate) => isSame(candidate, flavor)) ?? writeRecord(FLAVOR_OBJECT, flavor, profile),
    ];
  });
  return Object.fromEntries(entries);
}

function isSame(candidate: unknown, flavor: Flavor): boolean {
  const other = readRecord(FLAVOR_OBJECT, candidate);
  const { extraSpecs, ...rest } = flavor;
  const { extraSpecs: otherSpecs, ...otherRest } = other;
  const isEqual = (one: object, another: object) =>
    Object.keys({ ...one, ...another }).every(
      (key) => (one as Record<string, unknown>)[key] === (another as Record<string, unknown>)[key],
    );
  return isEqual(rest, otherRest) && isEqual(extraSpecs, otherSpecs);
}
