import { badRequest, notFound } from "../../http/http-error.js";
import { routes } from "../../http/router.js";
import { enforce, may, type NetworkCall, type NetworkRoute, type RuleName } from "./call.js";
import { Input } from "./input.js";
import { type Attributes, listPage, view } from "./listing.js";

/** A resource type with list, show, create, update and delete. */
export interface Resource<T> {
  /** `security_groups` */
  readonly plural: string;
  readonly singular: "network" | "subnet" | "port" | "security_group" | "security_group_rule";
  /** `/v2.0/security-groups` */
  readonly path: string;
  /** Attributes of a record that the caller may see. */
  readonly attributes: (call: NetworkCall) => Attributes<T>;
  /** Returns the project that owns a record. */
  readonly owner: (record: T) => string;
  /** Returns the records that the caller may see. */
  readonly list: (call: NetworkCall) => readonly T[];
  readonly find: (call: NetworkCall, id: string) => T | undefined;
  /** Validates and stores a record. */
  readonly create: (call: NetworkCall, input: Input) => T;
  readonly update?: { readonly rule: RuleName; readonly change: (call: NetworkCall, record: T, input: Input) => T };
  readonly remove: (call: NetworkCall, record: T) => void;
}

/** Creates the routes of a resource type. */
export function routesOf<T>(resource: Resource<T>): readonly NetworkRoute[] {
  const { path, plural, singular, attributes, update } = resource;
  const show = (call: NetworkCall, record: T) => view(call, attributes(call), record);
  return routes<NetworkRoute>(
    {
      "GET /": async (call) => ({ body: await listPage(call, plural, attributes(call), resource.list(call)) }),
      "GET /:id": (call) => ({ body: { [singular]: show(call, found(resource, call)) } }),
      "POST /": (call) => create(resource, call),
      ...(update && {
        "PUT /:id": (call) => {
          const record = found(resource, call, update.rule);
          const input = new Input(call.body()[singular]);
          return { body: { [singular]: show(call, update.change(call, record, input)) } };
        },
      }),
      "DELETE /:id": (call) => {
        resource.remove(call, found(resource, call, `delete_${singular}`));
        return { status: 204 };
      },
    },
    { prefix: path },
  );
}

/** Returns the record. One that the caller may not see counts as missing. @throws {HttpError} 403, 404 */
function found<T>(resource: Resource<T>, call: NetworkCall, rule?: RuleName): T {
  const record = resource.find(call, call.param("id").toLowerCase());
  if (record === undefined || !may(call.caller, `get_${resource.singular}`, resource.owner(record))) {
    throw notFound();
  }
  if (rule !== undefined) {
    enforce(call.caller, rule, resource.owner(record));
  }
  return record;
}

/** Creates one record, or several of which all or none are created. */
function create<T>(resource: Resource<T>, call: NetworkCall) {
  const { singular, plural, attributes } = resource;
  const body = call.body();
  const several = body[plural];
  const items = several === undefined ? [body[singular]] : several;
  if (!Array.isArray(items) || items.length === 0) {
    throw badRequest("Resource body required");
  }
  const views = call.store.transaction(() =>
    items.map((item: unknown) => view(call, attributes(call), resource.create(call, new Input(item)))),
  );
  return { status: 201, body: several === undefined ? { [singular]: views[0] ?? null } : { [plural]: views } };
}
