import { withoutHiddenFields } from "../../../cluster/request-log/without-secrets.js";
import type { RecordedEvent, RecordedRequest } from "../../../conductor/methods/cluster.js";

type Fields = Readonly<Record<string, unknown>>;

/** Where each server was first seen, as `zone:host`, by its id: an administrator's clients are told. */
export function firstPlaces(events: readonly RecordedEvent[]): ReadonlyMap<string, string> {
  const places = new Map<string, string>();
  for (const event of events) {
    if (!("answer" in event) || !event.path.startsWith("/compute/")) {
      continue;
    }
    const { server, servers } = (event.answer ?? {}) as {
      readonly server?: Fields;
      readonly servers?: readonly Fields[];
    };
    for (const found of [...(server === undefined ? [] : [server]), ...(Array.isArray(servers) ? servers : [])]) {
      const { id, "OS-EXT-SRV-ATTR:host": host, "OS-EXT-AZ:availability_zone": zone } = found;
      if (typeof id === "string" && typeof host === "string" && !places.has(id)) {
        places.set(id, `${typeof zone === "string" && zone !== "" ? zone : "nova"}:${host}`);
      }
    }
  }
  return places;
}

/** What decides where a server goes. */
const PLACING = ["availability_zone", "host", "hypervisor_hostname", "os:scheduler_hints"];

/** The body of a request without what was hidden; of one that created a server, with the place that the scheduler chose then: it chooses among equals by lot. */
export function placedBody(event: RecordedRequest, places: ReadonlyMap<string, string>): unknown {
  const { method, path, answer } = event;
  const body = withoutHiddenFields(event.body);
  const { server: asked } = (body ?? {}) as { readonly server?: Fields };
  const { server: made } = (answer ?? {}) as { readonly server?: Fields };
  const place = places.get(String(made?.id));
  const isCreation = method === "POST" && /^\/compute\/v2(\.\d)?(\/[^/]+)?\/servers$/.test(path) && asked !== undefined;
  const isSingle = asked !== undefined && ["min_count", "max_count"].every((key) => Number(asked[key] ?? 1) === 1);
  return isCreation && isSingle && place !== undefined && !PLACING.some((key) => key in asked)
    ? { ...(body as Fields), server: { ...asked, availability_zone: place } }
    : body;
}
