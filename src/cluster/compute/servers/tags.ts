import type { Call, ComputeRoute } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { badRequest, notFound } from "../api/fault.js";
import { requireMember, requireReader } from "../api/policy.js";
import { TAG } from "../api/schema-parts.js";
import { schemas } from "../api/validate.js";
import { findInstance, findServer } from "./find-server.js";

/** Tags of one server; Nova's limit. */
const MOST = 50;

const ALL = schemas<{ readonly tags: readonly string[] }>([
  26,
  {
    type: "object",
    properties: { tags: { type: "array", items: TAG, maxItems: MOST } },
    required: ["tags"],
    additionalProperties: false,
  },
]);

const policy = (what: string): string => `os_compute_api:os-server-tags:${what}`;

function save(
  deps: ComputeDeps,
  call: Call,
  rule: string,
  change: (tags: readonly string[]) => readonly string[],
): readonly string[] {
  requireMember(call, policy(rule));
  return deps.store.transaction(() => {
    const { uuid, tags } = findInstance(deps, call);
    return deps.store.instances.save(uuid, { tags: [...new Set(change(tags))].sort() }).tags;
  });
}

const missing = (call: Call) => notFound(`Server ${call.param("id")} has no tag '${call.param("tag")}'`);

export const TAG_ROUTES: readonly ComputeRoute[] = [
  {
    method: "GET",
    path: "/servers/:id/tags",
    from: 26,
    answer: (deps, call) => {
      requireReader(call, policy("index"));
      return { body: { tags: findServer(deps, call).instance.tags } };
    },
  },
  {
    method: "PUT",
    path: "/servers/:id/tags",
    from: 26,
    answer: (deps, call) => {
      const { tags } = call.body(ALL);
      return { body: { tags: save(deps, call, "update_all", () => tags) } };
    },
  },
  {
    method: "DELETE",
    path: "/servers/:id/tags",
    from: 26,
    answer: (deps, call) => {
      save(deps, call, "delete_all", () => []);
      return { status: 204 };
    },
  },
  {
    method: "GET",
    path: "/servers/:id/tags/:tag",
    from: 26,
    answer: (deps, call) => {
      requireReader(call, policy("show"));
      if (!findServer(deps, call).instance.tags.includes(call.param("tag"))) {
        throw missing(call);
      }
      return { status: 204 };
    },
  },
  {
    method: "PUT",
    path: "/servers/:id/tags/:tag",
    from: 26,
    answer: (deps, call) => {
      const tag = call.param("tag");
      if (tag.length > 60 || /[,/]/.test(tag)) {
        throw badRequest(`Invalid tag '${tag}': at most 60 characters, no ',' or '/'`);
      }
      let known = false;
      save(deps, call, "update", (tags) => {
        known = tags.includes(tag);
        if (!known && tags.length >= MOST) {
          throw badRequest(`The number of tags exceeded the per-server limit ${MOST}`);
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
    answer: (deps, call) => {
      save(deps, call, "delete", (tags) => {
        if (!tags.includes(call.param("tag"))) {
          throw missing(call);
        }
        return tags.filter((tag) => tag !== call.param("tag"));
      });
      return { status: 204 };
    },
  },
];
