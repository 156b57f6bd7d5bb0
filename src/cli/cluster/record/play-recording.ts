import type { RecordedCommand, RecordedRequest } from "../../../conductor-client/methods/cluster.js";
import type { HttpMethod, HttpResponse } from "../../../runtime/http.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { askableBody, knowOldPassword } from "./askable-body.js";
import { firstPlaces, placeOf } from "./first-places.js";
import type { IdMap } from "./id-map.js";
import type { Recording } from "./recording.js";
import type { ReplaySession } from "./replay-session.js";

/** Where a replay went otherwise. */
interface Difference {
  /** Milliseconds after the start of the recording. */
  readonly at: number;
  readonly what: string;
  readonly expected: string;
  readonly found: string;
}

export interface Replayed {
  readonly differences: readonly Difference[];
  /** Requests that were not made again, with why. */
  readonly left: readonly string[];
}

export interface ReplayPlace {
  readonly session: ReplaySession;
  /** Runs a command of `compute-cluster` in the cluster. @returns why it failed; undefined: it did not */
  readonly run: (words: readonly string[]) => Promise<string | undefined>;
  /** Learns what the recorded ids are in the cluster. */
  readonly ids: IdMap;
  readonly runtime: Pick<Runtime, "clock" | "timers" | "random">;
  readonly signal: AbortSignal;
}

/** Milliseconds for which a request is tried again that comes sooner after the one before it than it may. */
const RETRY_TIMEOUT_MS = 30_000;
const PAUSE = 200;
/** Statuses after which the replay asks again: the cluster was not ready for the request. */
const TOO_EARLY = [404, 409];

/**
 * Does what was recorded again, in its times.
 * @param speed how many times as fast
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
  return reason === undefined
    ? undefined
    : { what: `compute-cluster ${run.join(" ")}`, expected: "done", found: reason };
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
