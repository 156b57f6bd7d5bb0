import type { VmState } from "../../../records/index.js";
import { badRequest, conflict, notFound } from "../../http/http-error.js";
import { schemas } from "../../http/schemas.js";
import { pythonRepr } from "../../python/repr.js";
import { type Call, type ComputeRoute, requireMember, requireReader } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { TAG } from "../api/schema-parts.js";
import { findServer } from "./find-server.js";

/** Max tags of a server, as in Nova. */
const MAX_TAGS = 50;
const MAX_TAG_LENGTH = 60;

const ALL = schemas<{ readonly tags: readonly string[] }>([
  26,
  {
    type: "object",
    properties: { tags: { type: "array", items: TAG, maxItems: MAX_TAGS } },
    required: ["tags"],
    additionalProperties: false,
  },
]);

const policy = (what: string): string => `os_compute_api:os-server-tags:${what}`;

/** Policy rules of changes, with the operation's name in the message for a wrong state. */
const CHANGES = {
  update_all: "update tags",
  delete_all: "delete tags",
  update: "update tag",
  delete: "delete tag",
} as const;

const STATES: readonly VmState[] = ["active", "paused", "suspended", "stopped"];

/**
 * Saves a server's tags.
 * @param change returns the new tags
 * @throws {HttpError} 409
 */
function save(
  deps: ComputeDeps,
  call: Call,
  rule: keyof typeof CHANGES,
  change: (tags: readonly string[]) => readonly string[],
): readonly string[] {
  requireMember(call, policy(rule));
  return deps.store.transaction(() => {
    const { uuid, tags, vmState } = findServer(deps, call).instance;
    if (!STATES.includes(vmState)) {
      throw conflict(`Cannot '${CHANGES[rule]}' instance ${call.param("id")} while it is in vm_state ${vmState}`);
    }
    return deps.store.instances.save(uuid, { tags: [...new Set(change(tags))].sort() }).tags;
  });
}

/** @throws {HttpError} 400 */
function checkTag(tag: string): void {
  const isLong = tag.length > MAX_TAG_LENGTH;
  if (!isLong && !/[,/]/.test(tag)) {
    return;
  }
  const error = `${pythonRepr(tag)} ${isLong ? "is too long" : "does not match '^[^,/]*$'"}`;
  throw badRequest(
    `Tag '${tag}' is invalid. It must be a non empty string without characters '/' and ','. Validation error message: ${error}`,
  );
}

export const TAG_ROUTES: readonly ComputeRoute[] = [
  {
    method: "GET",
    path: "/servers/:id/tags",
    from: 26,
    handle: (deps, call) => {
      requireReader(call, policy("index"));
      return { body: { tags: findServer(deps, call).instance.tags } };
    },
  },
  {
    method: "PUT",
    path: "/servers/:id/tags",
    from: 26,
    handle: (deps, call) => {
      const { tags } = call.body(ALL);
      return { body: { tags: save(deps, call, "update_all", () => tags) } };
    },
  },
  {
    method: "DELETE",
    path: "/servers/:id/tags",
    from: 26,
    handle: (deps, call) => {
      save(deps, call, "delete_all", () => []);
      return { status: 204 };
    },
  },
  {
    method: "GET",
    path: "/servers/:id/tags/:tag",
    from: 26,
    handle: (deps, call) => {
      requireReader(call, policy("show"));
      if (!findServer(deps, call).instance.tags.includes(call.param("tag"))) {
        throw notFound(`Server ${call.param("id")} has no tag '${call.param("tag")}'`);
      }
      return { status: 204 };
    },
  },
  {
    method: "PUT",
    path: "/servers/:id/tags/:tag",
    from: 26,
    handle: (deps, call) => {
      const tag = call.param("tag");
      let known = false;
      save(deps, call, "update", (tags) => {
        checkTag(tag);
        known = tags.includes(tag);
        if (tags.length >= MAX_TAGS) {
          throw badRequest(`The number of tags exceeded the per-server limit ${MAX_TAGS}`);
        }
        return [...tags, tag];
      });
      const location = call.links.self(`servers/${call.param("id")}/tags/${encodeURIComponent(tag)}`);
      return known ? { status: 204 } : { status: 201, headers: { location } };
    },
  },
  {
    method: "DELETE",
    path: "/servers/:id/tags/:tag",
    from: 26,
    handle: (deps, call) => {
      save(deps, call, "delete", (tags) => {
        if (!tags.includes(call.param("tag"))) {
          throw notFound(`Instance ${call.param("id")} has no tag '${call.param("tag")}'`);
        }
        return tags.filter((tag) => tag !== call.param("tag"));
      });
      return { status: 204 };
    },
  },
];
