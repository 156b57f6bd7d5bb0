import { isObject } from "../../../runtime/collections.js";
import { badRequest } from "../../http/http-error.js";
import { pythonRepr } from "../../python/repr.js";
import { invalidInput, type NetworkCall } from "./call.js";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const WORDS: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  ...[true, "true", "t", "yes", "on", "1", 1].map((word) => [word, true] as const),
  ...[false, "false", "f", "no", "off", "0", 0].map((word) => [word, false] as const),
]);

/** Attributes of a request body, read one by one. An attribute that was not read is unknown. */
export class Input {
  readonly #members: Readonly<Record<string, unknown>>;
  readonly #read = new Set<string>();

  /** @throws {HttpError} 400 */
  constructor(members: unknown) {
    if (!isObject(members)) {
      throw badRequest("Resource body required");
    }
    this.#members = members;
  }

  /** Returns undefined if it is absent. Null is returned as null. */
  any(name: string): unknown {
    this.#read.add(name);
    return Object.hasOwn(this.#members, name) ? this.#members[name] : undefined;
  }

  /** @throws {HttpError} 400 */
  text(name: string, longest = 255): string | undefined {
    const value = this.any(name);
    if (value === undefined) {
      return undefined;
    }
    if (typeof value !== "string") {
      throw invalidInput(name, `${pythonRepr(value)} is not a valid string.`);
    }
    if (value.length > longest) {
      throw invalidInput(name, `'${value}' exceeds maximum length of ${longest}.`);
    }
    return value;
  }

  /** @throws {HttpError} 400 */
  flag(name: string): boolean | undefined {
    const value = this.any(name);
    if (value === undefined) {
      return undefined;
    }
    const flag = WORDS.get(typeof value === "string" ? value.toLowerCase() : value);
    if (flag === undefined) {
      throw invalidInput(name, `${pythonRepr(value)} cannot be converted to boolean.`);
    }
    return flag;
  }

  /** Treats null as absent. @throws {HttpError} 400 */
  uuid(name: string): string | undefined {
    const value = this.any(name) ?? undefined;
    return value === undefined ? undefined : asUuid(name, value);
  }

  /** Treats null as absent. @throws {HttpError} 400 */
  uuids(name: string): readonly string[] | undefined {
    const value = this.any(name) ?? undefined;
    if (value === undefined) {
      return undefined;
    }
    if (!Array.isArray(value)) {
      throw invalidInput(name, `${pythonRepr(value)} is not a list.`);
    }
    return [...new Set(value.map((item) => asUuid(name, item)))];
  }

  /** @throws {HttpError} 400 */
  require<T>(name: string, value: T | undefined): T {
    if (value === undefined) {
      throw badRequest(`Failed to parse request. Required attribute '${name}' not specified`);
    }
    return value;
  }

  /** Returns the project that the body names, else the caller's. @throws {HttpError} 400 */
  project({ caller }: NetworkCall): string {
    const [tenant, project] = [this.text("tenant_id"), this.text("project_id")];
    if (tenant !== undefined && project !== undefined && tenant !== project) {
      throw badRequest("'project_id' and 'tenant_id' do not match");
    }
    return this.require("project_id", project ?? tenant ?? caller.projectId ?? undefined);
  }

  /** Rejects attributes that were not read. @throws {HttpError} 400 */
  end(): void {
    const others = Object.keys(this.#members).filter((name) => !this.#read.has(name));
    if (others.length > 0) {
      throw badRequest(`Unrecognized attribute(s) '${others.join(", ")}'`);
    }
  }
}

function asUuid(name: string, value: unknown): string {
  if (typeof value !== "string" || !UUID.test(value)) {
    throw invalidInput(name, `${pythonRepr(value)} is not a valid UUID.`);
  }
  return value.toLowerCase();
}
