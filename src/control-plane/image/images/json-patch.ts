import { isObject } from "../../../runtime/is-object.js";
import { badRequest, ImageFault } from "../api/fault.js";
import { assertNotReserved, checkMembers } from "./attributes.js";

const OPERATIONS = ["add", "remove", "replace"] as const;

type Operation = (typeof OPERATIONS)[number];

export interface Change {
  readonly op: Operation;
  readonly name: string;
  /** Absent with `remove`. */
  readonly value?: unknown;
  /** What may be added must not be there yet: the older draft. */
  readonly onlyNew: boolean;
}

/** Changes that one request may bring. */
const MAX_CHANGES = 1000;

/** Content types, and whether each is the older draft, which names the operation as a member. */
const DRAFTS: ReadonlyMap<string, boolean> = new Map([
  ["application/openstack-images-v2.0-json-patch", true],
  ["application/openstack-images-v2.1-json-patch", false],
]);

/** @throws {ImageFault} 415 */
export function draftOf(contentType: string | undefined): { readonly isOld: boolean } {
  const type = (contentType ?? "").split(";")[0]?.trim() ?? "";
  const isOld = DRAFTS.get(type);
  if (isOld === undefined) {
    const headers = { "accept-patch": [...DRAFTS.keys()].join(", ") };
    throw new ImageFault(415, `The request media type ${type} is not supported by this server.`, headers);
  }
  return { isOld };
}

/** The changes of a patch, each valid by itself. @throws {ImageFault} 400, 403 */
export function readChanges(body: unknown, isOld: boolean): readonly Change[] {
  if (!Array.isArray(body)) {
    throw badRequest("Request body must be a JSON array of operation objects.");
  }
  if (body.length > MAX_CHANGES) {
    throw badRequest(`The request has ${body.length} operations; there may be ${MAX_CHANGES}.`);
  }
  return body.map((raw) => {
    if (!isObject(raw)) {
      throw badRequest("Operations must be JSON objects.");
    }
    return readChange(raw, isOld);
  });
}

function readChange(raw: Readonly<Record<string, unknown>>, isOld: boolean): Change {
  const op = isOld ? oldOperation(raw) : operation(raw);
  const name = nameIn(isOld ? raw[op] : pathOf(raw), op);
  if (op !== "remove" && !("value" in raw)) {
    throw badRequest(`Operation "${op}" requires a member named "value".`);
  }
  assertNotReserved(name);
  if (op === "remove") {
    return { op, name, onlyNew: false };
  }
  if (name !== "locations") {
    checkMembers({ [name]: raw.value });
  }
  return { op, name, value: raw.value, onlyNew: isOld };
}

function operation({ op }: Readonly<Record<string, unknown>>): Operation {
  const known = OPERATIONS.find((each) => each === op);
  if (known) {
    return known;
  }
  const expected = `It must be one of the following: ${OPERATIONS.join(", ")}.`;
  throw badRequest(
    op === undefined || op === null
      ? `Unable to find \`op\` in JSON Schema change. ${expected}`
      : `Invalid operation: \`${String(op)}\`. ${expected}`,
  );
}

function oldOperation(raw: Readonly<Record<string, unknown>>): Operation {
  const [first, second] = OPERATIONS.filter((name) => name in raw);
  if (second) {
    throw badRequest('Operation objects must contain only one member named "add", "remove", or "replace".');
  }
  if (!first) {
    throw badRequest('Operation objects must contain exactly one member named "add", "remove", or "replace".');
  }
  return first;
}

function pathOf(raw: Readonly<Record<string, unknown>>): unknown {
  if (!("path" in raw)) {
    throw badRequest("Unable to find 'path' in JSON Schema change");
  }
  return raw.path;
}

/** The attribute or property that a JSON pointer leads to. Within one there is nothing, but for `locations`. */
function nameIn(pointer: unknown, op: Operation): string {
  if (typeof pointer !== "string") {
    throw badRequest(`Pointer \`${String(pointer)}\` is no text.`);
  }
  const wrong = pointerFault(pointer);
  if (wrong) {
    throw badRequest(`Pointer \`${pointer}\` ${wrong}`);
  }
  const parts = pointer
    .replace(/^\/+/, "")
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~").trim());
  const [name = ""] = parts;
  const depth = name === "locations" && op !== "replace" ? 2 : 1;
  if (parts.length !== depth || name === "") {
    throw badRequest(`Invalid JSON pointer for this resource: '/${parts.join("/")}'`);
  }
  return name;
}

function pointerFault(pointer: string): string | undefined {
  if (!pointer.startsWith("/")) {
    return 'does not start with "/".';
  }
  if (/\/\s*?\//.test(pointer.slice(1))) {
    return 'contains adjacent "/".';
  }
  if (pointer.length > 1 && pointer.endsWith("/")) {
    return 'end with "/".';
  }
  if (/~[^01]/.test(pointer) || pointer.endsWith("~")) {
    return 'contains "~" not part of a recognized escape sequence.';
  }
  return undefined;
}
