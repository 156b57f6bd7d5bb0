import { isObject } from "../../../runtime/collections.js";
import { badRequest } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { pythonRepr } from "../../python/repr.js";

export interface PatchOperation {
  readonly op: "add" | "replace" | "remove";
  /** `/instance_info/root_gb` */
  readonly path: string;
  readonly value?: Json;
}

const OPERATIONS = ["add", "replace", "remove"];

/** Reads a request's body as operations. @throws {HttpError} 400 */
export function readPatch(body: unknown): readonly PatchOperation[] {
  const wrong = (text: string) => badRequest(`Schema error for patch: ${text}`);
  if (!Array.isArray(body)) {
    throw wrong(`${pythonRepr(body)} is not of type 'array'`);
  }
  return body.map((operation: unknown) => {
    if (!isObject(operation)) {
      throw wrong(`${pythonRepr(operation)} is not of type 'object'`);
    }
    const { op, path } = operation;
    for (const name of ["op", "path"]) {
      if (operation[name] === undefined) {
        throw wrong(`'${name}' is a required property`);
      }
    }
    if (typeof path !== "string" || !/^(\/[\w-]+)+$/.test(path)) {
      throw wrong(`${pythonRepr(path)} does not match '^(/[\\\\w-]+)+$'`);
    }
    if (typeof op !== "string" || !OPERATIONS.includes(op)) {
      throw wrong(`${pythonRepr(op)} is not one of ['add', 'replace', 'remove']`);
    }
    const extra = Object.keys(operation).find((name) => !["op", "path", "value"].includes(name));
    if (extra !== undefined) {
      throw wrong(`Additional properties are not allowed ('${extra}' was unexpected)`);
    }
    if (op !== "remove" && operation.value === undefined) {
      throw wrong("'value' is a required property");
    }
    return operation as unknown as PatchOperation;
  });
}

/** Returns a copy of the document with the operations applied in order. @throws {HttpError} 400 */
export function applyPatch(
  document: Readonly<Record<string, Json>>,
  patch: readonly PatchOperation[],
): Record<string, Json> {
  const result = structuredClone(document) as Record<string, Json>;
  for (const operation of patch) {
    const reason = apply(result, operation);
    if (reason !== undefined) {
      throw badRequest(`Couldn't apply patch '${pythonRepr(operation)}'. Reason: ${reason}`);
    }
  }
  return result;
}

type Container = Record<string, Json> | Json[];

/** Applies an operation in place. @returns the reason if it cannot be applied */
function apply(document: Container, operation: PatchOperation): string | undefined {
  const keys = operation.path.split("/").slice(1);
  const key = keys.pop() ?? "";
  let parent: Container = document;
  for (const step of keys) {
    const next: unknown = Array.isArray(parent) ? parent[Number(step)] : own(parent, step);
    if (!Array.isArray(next) && !isObject(next)) {
      return `member '${step}' not found in ${pythonRepr(parent)}`;
    }
    parent = next as Container;
  }
  return Array.isArray(parent) ? changeArray(parent, key, operation) : changeObject(parent, key, operation);
}

function own(object: Record<string, Json>, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function changeObject(
  object: Record<string, Json>,
  key: string,
  { op, value = null }: PatchOperation,
): string | undefined {
  if (op !== "add" && !Object.hasOwn(object, key)) {
    return `can't ${op} a non-existent object '${key}'`;
  }
  if (op === "remove") {
    delete object[key];
  } else {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  }
  return undefined;
}

function changeArray(array: Json[], key: string, { op, value = null }: PatchOperation): string | undefined {
  const index = key === "-" ? array.length : Number(key);
  const last = op === "add" ? array.length : array.length - 1;
  if (!/^(-|0|[1-9]\d{0,8})$/.test(key)) {
    return `'${key}' is not a valid sequence index`;
  }
  if (index > last) {
    return op === "add" ? "can't insert outside of list" : `can't ${op} outside of list`;
  }
  if (op === "add") {
    array.splice(index, 0, value);
  } else if (op === "replace") {
    array[index] = value;
  } else {
    array.splice(index, 1);
  }
  return undefined;
}
