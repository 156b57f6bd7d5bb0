import {
  administratorIn,
  type RecordedCommand,
  type RecordedRequest,
} from "../../../conductor-client/methods/cluster.js";
import { withMadeUpSecrets } from "../../../control-plane/request-log/redaction.js";
import type { Random } from "../../../runtime/cryptography.js";
import type { HttpMethod, HttpResponse } from "../../../runtime/http.js";
import { BYTES } from "../../../runtime/http-server.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { firstPlaces, placedIn, placeOf, type Recording } from "./recording.js";
import type { IdMap, ReplaySession } from "./replay-session.js";

/** Maximum number of zeros that replace the bytes of an image that was not recorded. */
const MAX_PLACEHOLDER_BYTES = 16 * 1024 * 1024;

/** A difference between the recording and the replay. */
interface Difference {
  /** Milliseconds after the start of the recording. */
  readonly at: number;
  readonly what: string;
  readonly expected: string;
  readonly found: string;
}

export interface Replayed {
  readonly differences: readonly Difference[];
  /** Requests that were skipped, with the reasons. */
  readonly left: readonly string[];
}

export interface ReplayPlace {
  readonly session: ReplaySession;
  /** Runs a command of `compute-cluster` in the cluster. @returns why it failed; undefined on success */
  readonly run: (words: readonly string[]) => Promise<string | undefined>;
  /** Maps recorded ids to those in the cluster. */
  readonly ids: IdMap;
  readonly runtime: Pick<Runtime, "clock" | "timers" | "random">;
  readonly signal: AbortSignal;
}

/**
 * Milliseconds for which a request is retried if the cluster is not ready for it, because the replay is faster than the
 * recording.
 */
const RETRY_TIMEOUT_MS = 30_000;

const PAUSE = 200;

/** Statuses after which the replay retries: the cluster was not ready for the request. */
const TOO_EARLY = [404, 409];

/**
 * Replays a recording with its original timing.
 * @param speed factor by which it is faster
 */
export async function playRecording(
  { start, events }: Recording,
  speed: number,
  place: ReplayPlace,
): Promise<Replayed> {
  const { runtime, signal } = place;
  const began = runtime.clock.monotonic();
  const differences: Difference[] = [];
  const left: string[] = [];
  const places = firstPlaces(events);
  for (const event of events) {
    if ("place" in event) {
      continue;
    }
    const due = Math.max(0, event.at - start.at) / speed;
    const ahead = due - (runtime.clock.monotonic() - began);
    if (ahead > 0) {
      await runtime.timers.sleep(ahead, signal);
    }
    signal.throwIfAborted();
    const found =
      "run" in event ? await command(event, place) : await request(event, placeOf(event, places), place, left);
    if (found !== undefined) {
      differences.push({ at: event.at - start.at, ...found });
    }
  }
  return { differences, left };
}

type Found = Omit<Difference, "at"> | undefined;

async function command({ run }: RecordedCommand, place: ReplayPlace): Promise<Found> {
  const reason = await place.run(run.map((word) => place.ids.translate(word)));
  return reason === undefined ? undefined : { what: `compute-agent ${run.join(" ")}`, expected: "done", found: reason };
}

async function request(
  event: RecordedRequest,
  where: string | undefined,
  place: ReplayPlace,
  left: string[],
): Promise<Found> {
  const { method, path, status, caller, answer: response } = event;
  const { session, ids } = place;
  const { clock, timers, random } = place.runtime;
  const what = `${method} ${path}${caller?.user.name === "admin" ? "" : ` as ${caller?.user.name ?? "nobody"}`}`;
  if (event.left !== undefined) {
    left.push(`${what}: ${event.left}`);
    return undefined;
  }
  const known = await knowOldPassword(event, { session, ids, random });
  const body = askableBody(known, where, random);
  const targetRequest = {
    method: method as HttpMethod,
    path: ids.translate(path),
    ...(event.version === undefined ? {} : { version: ids.translate(event.version) }),
    ...(event.contentType === undefined ? {} : { contentType: event.contentType }),
    ...(body === undefined ? {} : { body: ids.translate(body) }),
  };
  const placing = where !== undefined && caller?.roles.includes("admin") === false;
  const until = clock.monotonic() + RETRY_TIMEOUT_MS;
  let found = await session.request(caller, targetRequest, placing);
  while (status < 300 && TOO_EARLY.includes(found.status) && clock.monotonic() < until) {
    await timers.sleep(PAUSE, place.signal);
    found = await session.request(caller, targetRequest, placing);
  }
  ids.learn(response, jsonOf(found));
  return found.status === status ? undefined : { what, expected: String(status), found: String(found.status) };
}

function jsonOf({ body }: HttpResponse): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

/**
 * Returns the body for repeating a request. It has generated secrets, zeros for bytes that were not recorded, and the
 * original host of a server. Undefined if the request had no body.
 * @internal
 */
export function askableBody(
  { body, bytes = 0, contentType }: RecordedRequest,
  place: string | undefined,
  random: Random,
): string | undefined {
  if (contentType?.startsWith(BYTES)) {
    return "\0".repeat(Math.min(Math.max(bytes, 1), MAX_PLACEHOLDER_BYTES));
  }
  if (body === undefined || body === null) {
    return undefined;
  }
  const completeBody = withMadeUpSecrets(body, (name) => madeUp(name, random));
  return JSON.stringify(place === undefined ? completeBody : placedIn(completeBody, place));
}

/** Generates a secret. Hexadecimal digits are also valid Base64, which user data must be. */
function madeUp(name: string, random: Random): string {
  return name === "blob" ? JSON.stringify({ access: random.hex(16), secret: random.hex(16) }) : random.hex(16);
}

/**
 * Returns the request. For a successful password change, it first sets a known old password for the user, and puts that into
 * the request.
 */
async function knowOldPassword(
  event: RecordedRequest,
  { session, ids, random }: { readonly session: ReplaySession; readonly ids: IdMap; readonly random: Random },
): Promise<RecordedRequest> {
  const { method, path, status, body } = event;
  const [, user] = /^\/identity\/v3\/users\/([^/]+)\/password$/.exec(path) ?? [];
  if (method !== "POST" || user === undefined || status >= 300) {
    return event;
  }
  const old = random.hex(16);
  await session.request(administratorIn("admin"), {
    method: "PATCH",
    path: ids.translate(`/identity/v3/users/${user}`),
    contentType: "application/json",
    body: JSON.stringify({ user: { password: old } }),
  });
  const { user: userBody } = (typeof body === "object" && body !== null ? body : {}) as { readonly user?: unknown };
  return { ...event, body: { user: { ...(typeof userBody === "object" ? userBody : {}), original_password: old } } };
}
