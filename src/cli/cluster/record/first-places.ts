import type { RecordedRequest } from "../../../conductor-client/methods/cluster.js";
import { isObject } from "../../../runtime/is-object.js";
import type { RecordingEvent } from "./recording.js";

type Fields = Readonly<Record<string, unknown>>;

/** Where each server was first seen, as `zone:host`, by its id. Recordings of version 1 have only what administrators were told. */
export function firstPlaces(events: readonly RecordingEvent[]): ReadonlyMap<string, string> {
  const recordedEntries = events.flatMap((event) => ("place" in event ? [[event.server, event.place] as const] : []));
  const places = new Map(recordedEntries);
  for (const event of events) {
    if (!("answer" in event) || !event.path.startsWith("/compute/")) {
      continue;
    }
    const { server, servers } = fieldsOf(event.answer);
    for (const found of [server, ...(Array.isArray(servers) ? servers : [])].map(fieldsOf)) {
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

/** Where the scheduler has put the server that a request asked for: it chooses among equals by lot. Undefined: the request itself says where, or nobody knows. */
export function placeOf(event: RecordedRequest, places: ReadonlyMap<string, string>): string | undefined {
  const id = createdServer(event);
  const { server } = fieldsOf(event.body);
  const requestedServer = fieldsOf(server);
  const isSingle = ["min_count", "max_count"].every((key) => Number(requestedServer[key] ?? 1) === 1);
  const isFree = isSingle && !PLACING.some((key) => key in requestedServer);
  return id !== undefined && isFree ? places.get(id) : undefined;
}

/** The body with this place. */
export function placedIn(body: unknown, place: string): unknown {
  const { server, ...rest } = fieldsOf(body);
  return { ...rest, server: { ...fieldsOf(server), availability_zone: place } };
}

/** The id of the server that a request has made; undefined: it has made none. */
export function createdServer({ method, path, answer: response }: RecordedRequest): string | undefined {
  const { id } = fieldsOf(fieldsOf(response).server);
  const isCreation = method === "POST" && /^\/compute\/v2(\.\d)?(\/[^/]+)?\/servers$/.test(path);
  return isCreation && typeof id === "string" ? id : undefined;
}

/** What an answer or a body has, which may be anything. */
function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}
