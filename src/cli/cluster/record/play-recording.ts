import type { RecordedCommand, RecordedRequest } from "../../../conductor/methods/cluster.js";
import type { HttpMethod, HttpResponse } from "../../../runtime/http.js";
import type { Runtime } from "../../../runtime/runtime.js";
import { firstPlaces, placedBody } from "./first-places.js";
import { IdMap } from "./id-map.js";
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
  readonly ids: IdMap;
}

export interface ReplayPlace {
  readonly session: ReplaySession;
  /** Runs a command of `compute-cluster` in the cluster. @returns why it failed; undefined: it did not */
  readonly run: (words: readonly string[]) => Promise<string | undefined>;
  readonly runtime: Pick<Runtime, "clock" | "timers">;
  readonly signal: AbortSignal;
}

/** Milliseconds for which a request is tried again that comes sooner after the one before it than it may. */
const PATIENCE = 30_000;
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
  const ids = new IdMap();
  const differences: Difference[] = [];
  const left: string[] = [];
  const places = firstPlaces(events);
  for (const event of events) {
    const due = Math.max(0, event.at - start.at) / speed;
    const ahead = due - (runtime.clock.monotonic() - began);
    if (ahead > 0) {
      await runtime.timers.sleep(ahead, signal);
    }
    signal.throwIfAborted();
    const found =
      "run" in event
        ? await command(event, ids, place)
        : await request({ ...event, body: placedBody(event, places) }, ids, place, left);
    if (found !== undefined) {
      differences.push({ at: event.at - start.at, ...found });
    }
  }
  return { differences, left, ids };
}

type Found = Omit<Difference, "at"> | undefined;

async function command({ run }: RecordedCommand, ids: IdMap, place: ReplayPlace): Promise<Found> {
  const reason = await place.run(run.map((word) => ids.translate(word)));
  return reason === undefined
    ? undefined
    : { what: `compute-cluster ${run.join(" ")}`, expected: "done", found: reason };
}

async function request(event: RecordedRequest, ids: IdMap, place: ReplayPlace, left: string[]): Promise<Found> {
  const { method, path, status, project, body, answer } = event;
  const what = `${method} ${path}`;
  if (event.left !== undefined) {
    left.push(`${what}: ${event.left}`);
    return undefined;
  }
  if (event.user !== "admin" && status === 403) {
    left.push(`${what}: refused to ${event.user}, and everything is asked as the administrator`);
    return undefined;
  }
  const { clock, timers } = place.runtime;
  const ask = () =>
    place.session.request(project, {
      method: method as HttpMethod,
      path: ids.translate(path),
      ...(event.version === undefined ? {} : { version: ids.translate(event.version) }),
      ...(event.contentType === undefined ? {} : { contentType: event.contentType }),
      ...(body === undefined || body === null ? {} : { body: ids.translate(JSON.stringify(body)) }),
    });
  const until = clock.monotonic() + PATIENCE;
  let found = await ask();
  while (status < 300 && TOO_EARLY.includes(found.status) && clock.monotonic() < until) {
    await timers.sleep(PAUSE, place.signal);
    found = await ask();
  }
  ids.learn(answer, jsonOf(found));
  return found.status === status ? undefined : { what, expected: String(status), found: String(found.status) };
}

function jsonOf({ body }: HttpResponse): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}
