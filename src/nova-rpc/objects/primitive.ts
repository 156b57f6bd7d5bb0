import { isObject } from "../../runtime/collections.js";

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

/** Whether a value claims to be an object; only {@link objectOf} says that it is one. */
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
