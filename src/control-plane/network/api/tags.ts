import { badRequest, HttpError } from "../../http/http-error.js";
import { routes } from "../../http/router.js";
import { pythonRepr } from "../../python/repr.js";
import { may, type NetworkCall, type NetworkRoute } from "./call.js";
import type { Input } from "./input.js";
import type { Resource } from "./resource-routes.js";

const MAX_LENGTH = 255;

/** A resource type with tags. */
type Tagged<T> = Pick<Resource<T>, "path" | "singular" | "owner" | "find"> & {
  /** Increments the revision of a record whose tags have changed. */
  readonly touch: (call: NetworkCall, record: T) => void;
};

/** Creates the tag routes of a resource type. As in Neutron, everyone who may see a record may tag it. */
export function tagRoutes<T>(kind: Tagged<T>): readonly NetworkRoute[] {
  const change = (call: NetworkCall, work: (id: string) => void) => {
    const { id, record } = tagged(kind, call);
    call.store.transaction(() => {
      work(id);
      kind.touch(call, record);
    });
  };
  return routes<NetworkRoute>(
    {
      "GET /": (call) => ({ body: { tags: [...call.store.networkTags.of(tagged(kind, call).id)] } }),
      "PUT /": (call) => {
        const { tags: value } = call.body();
        if (value === undefined) {
          throw invalidTags("Invalid tags body");
        }
        const tags = checkTags(value, invalidTags);
        change(call, (id) => call.store.networkTags.replace(id, tags));
        return { body: { tags: [...tags] } };
      },
      "DELETE /": (call) => {
        change(call, (id) => call.store.networkTags.replace(id, []));
        return { status: 204 };
      },
      "GET /:tag": (call) => {
        requireTag(call, tagged(kind, call).id);
        return { status: 204 };
      },
      "PUT /:tag": (call) => {
        const [tag = ""] = checkTags([call.param("tag")], invalidTags);
        change(call, (id) => call.store.networkTags.add(id, tag));
        return { status: 201 };
      },
      "DELETE /:tag": (call) => {
        change(call, (id) => {
          requireTag(call, id);
          call.store.networkTags.remove(id, call.param("tag"));
        });
        return { status: 204 };
      },
    },
    { prefix: `${kind.path}/:id/tags` },
  );
}

/** Returns the tags in the body of a new record. @throws {HttpError} 400 */
export function readTags(input: Input): readonly string[] {
  const value = input.any("tags");
  const wrong = (reason: string) => badRequest(`Invalid input for tags. Reason: ${reason}.`);
  return value === undefined ? [] : checkTags(value, wrong);
}

function checkTags(value: unknown, wrong: (reason: string) => HttpError): readonly string[] {
  if (!Array.isArray(value)) {
    throw wrong(`'${typeof value === "string" ? value : pythonRepr(value)}' is not a list`);
  }
  const doubled = new Set(value.filter((tag, index) => value.indexOf(tag) !== index));
  if (doubled.size > 0) {
    throw wrong(`Duplicate items in the list: '${[...doubled].join(", ")}'`);
  }
  for (const tag of value) {
    if (typeof tag !== "string") {
      throw wrong(`'${pythonRepr(tag)}' is not a valid string`);
    }
    if (tag.length > MAX_LENGTH) {
      throw wrong(`'${tag}' exceeds maximum length of ${MAX_LENGTH}`);
    }
  }
  return value;
}

function invalidTags(reason: string): HttpError {
  return badRequest(`Invalid input for operation: ${reason}.`, "InvalidInput");
}

function tagged<T>(
  { singular, owner, find }: Tagged<T>,
  call: NetworkCall,
): { readonly id: string; readonly record: T } {
  const id = call.param("id").toLowerCase();
  const record = find(call, id);
  if (record === undefined || !may(call.caller, `get_${singular}`, owner(record))) {
    throw new HttpError(404, `Resource ${singular} ${call.param("id")} could not be found.`, {
      code: "TagResourceNotFound",
    });
  }
  return { id, record };
}

function requireTag(call: NetworkCall, id: string): void {
  const tag = call.param("tag");
  if (!call.store.networkTags.of(id).includes(tag)) {
    throw new HttpError(404, `Tag ${tag} could not be found.`, { code: "TagNotFound" });
  }
}
