import { isObject } from "../http/json.js";
import { type ImageFacts, PLAIN } from "./images.js";

/** A body that says what an image cannot be. */
export class BadImage extends Error {
  override readonly name = "BadImage";
  /** 400, or 403 for what is not the caller's to set. */
  readonly status: number;

  constructor(message: string, status = 400) {
    super(message);
    this.status = status;
  }
}

const READ_ONLY = new Set([
  ...["status", "checksum", "size", "virtual_size", "created_at", "updated_at", "self", "file", "schema"],
  ...["direct_url", "locations", "os_hash_algo", "os_hash_value"],
]);

export const CONTAINERS = ["ami", "ari", "aki", "bare", "ovf", "ova", "docker", "compressed"] as const;
export const DISKS = ["ami", "ari", "aki", "vhd", "vhdx", "vmdk", "raw", "qcow2", "vdi", "iso", "ploop"] as const;
const VISIBILITIES = ["public", "private", "community", "shared"] as const;

type Writable<T> = { -readonly [K in keyof T]: T[K] };
type Setter = (facts: Writable<Partial<ImageFacts>>, value: unknown, name: string) => void;

const SETTERS: Readonly<Record<string, Setter>> = {
  name: (facts, value, name) => (facts.name = textOrNull(value, name)),
  owner: (facts, value, name) => (facts.owner = textOrNull(value, name)),
  visibility: (facts, value, name) => (facts.visibility = oneOf(value, name, VISIBILITIES)),
  protected: (facts, value, name) => (facts.protected = flag(value, name)),
  os_hidden: (facts, value, name) => (facts.hidden = flag(value, name)),
  disk_format: (facts, value, name) => (facts.diskFormat = value === null ? null : oneOf(value, name, DISKS)),
  container_format: (facts, value, name) =>
    (facts.containerFormat = value === null ? null : oneOf(value, name, CONTAINERS)),
  min_disk: (facts, value, name) => (facts.minDisk = amount(value, name)),
  min_ram: (facts, value, name) => (facts.minRam = amount(value, name)),
  tags: (facts, value, name) => (facts.tags = textList(value, name)),
};

/** POST /v2/images. @throws {BadImage} */
export function readNewImage(body: unknown): { readonly id: string | undefined; readonly facts: Partial<ImageFacts> } {
  if (!isObject(body)) {
    throw new BadImage("Expected a JSON object.");
  }
  const { id, ...members } = body;
  if (id !== undefined && (typeof id !== "string" || !UUID.test(id))) {
    throw new BadImage(`Provided object does not match schema 'image': ${JSON.stringify(id)} is not a valid UUID.`);
  }
  return { id: id?.toLowerCase(), facts: changed(PLAIN, Object.entries(members)) };
}

/** What an `openstack-images-v2.1-json-patch` makes of an image. @throws {BadImage} */
export function readPatch(before: ImageFacts, body: unknown): Partial<ImageFacts> {
  if (!Array.isArray(body)) {
    throw new BadImage("Request body must be a JSON array of operation objects.");
  }
  let facts: Partial<ImageFacts> = {};
  for (const operation of body) {
    const { op, path, value }: Readonly<Record<string, unknown>> = isObject(operation) ? operation : {};
    const [, name, more] = typeof path === "string" ? path.split("/") : [];
    if (name === undefined || name === "" || more !== undefined) {
      throw new BadImage(`Invalid JSON pointer for this resource: ${JSON.stringify(path)}.`);
    }
    const current = { ...before, ...facts };
    switch (op) {
      case "add":
      case "replace":
        if (op === "replace" && !(name in SETTERS) && !(name in current.properties) && !READ_ONLY.has(name)) {
          throw new BadImage(`Property ${name} does not exist.`, 409);
        }
        facts = { ...facts, ...changed(current, [[name, value]]) };
        break;
      case "remove": {
        const { [name]: removed, ...properties } = current.properties;
        if (removed === undefined) {
          throw new BadImage(`Property ${name} may not be removed, or does not exist.`, 403);
        }
        facts = { ...facts, properties };
        break;
      }
      default:
        throw new BadImage(`Operations must be add, replace or remove; found ${JSON.stringify(op)}.`);
    }
  }
  return facts;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Members that the API does not know are properties. */
function changed(before: ImageFacts, members: readonly (readonly [string, unknown])[]): Partial<ImageFacts> {
  const facts: Writable<Partial<ImageFacts>> = {};
  for (const [name, value] of members) {
    if (READ_ONLY.has(name) || name === "id") {
      throw new BadImage(`Attribute '${name}' is read-only.`, 403);
    }
    const set = Object.hasOwn(SETTERS, name) ? SETTERS[name] : undefined;
    if (set) {
      set(facts, value, name);
    } else {
      facts.properties = { ...before.properties, ...facts.properties, [name]: textIn(value, name) };
    }
  }
  return facts;
}

function refuse(name: string, value: unknown, expected: string): never {
  const found = JSON.stringify(value)?.slice(0, 200);
  throw new BadImage(`Provided object does not match schema 'image': ${name}: found ${found}, expected ${expected}.`);
}

function textIn(value: unknown, name: string): string {
  return typeof value === "string" ? value : refuse(name, value, "a string");
}

function textOrNull(value: unknown, name: string): string | null {
  return value === null || (typeof value === "string" && value.length <= 255)
    ? value
    : refuse(name, value, "a string of at most 255 characters, or null");
}

function oneOf<T extends string>(value: unknown, name: string, known: readonly T[]): T {
  return known.find((each) => each === value) ?? refuse(name, value, `one of ${known.join(", ")}`);
}

function flag(value: unknown, name: string): boolean {
  return typeof value === "boolean" ? value : refuse(name, value, "true or false");
}

function amount(value: unknown, name: string): number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < 2 ** 31
    ? value
    : refuse(name, value, "an integer of at least 0");
}

function textList(value: unknown, name: string): readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string" && each.length <= 255)
    ? [...new Set<string>(value)]
    : refuse(name, value, "a list of strings");
}
