import type { RecordedCaller, StandIn } from "../../../conductor-client/methods/cluster.js";
import type { HostSession } from "../../../conductor-client/port.js";
import { isObject } from "../../../runtime/collections.js";
import type { HttpClient, HttpMethod, HttpResponse } from "../../../runtime/http.js";

/** Ids as OpenStack's services make them: with hyphens, or, in Identity, without. */
const ID = /\b(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})\b/g;

/** Fields by which things in lists are known, whatever their order. */
const NAMES = ["name", "host", "hypervisor_hostname", "binary", "action"];

/** What the ids of one cloud are in another one, learnt from answers to the same questions. */
export class IdMap {
  readonly #ids = new Map<string, string>();

  of(id: string): string | undefined {
    return this.#ids.get(id);
  }

  /** The text with every id that is known. */
  translate(text: string): string {
    return text.replaceAll(ID, (id) => this.#ids.get(id) ?? id);
  }

  /** Compares what was answered then and now. */
  learn(then: unknown, now: unknown): void {
    if (typeof then === "string" && typeof now === "string") {
      this.#learnWithin(then, now);
    } else if (Array.isArray(then) && Array.isArray(now)) {
      then.forEach((each, at) => {
        this.learn(each, partner(each, at, now));
      });
    } else if (isObject(then) && isObject(now)) {
      for (const [key, value] of Object.entries(then)) {
        this.learn(value, now[key]);
      }
    }
  }

  /** Learns which id stands for which, also inside of texts such as links. */
  #learnWithin(then: string, now: string): void {
    const before = then.match(ID) ?? [];
    const after = now.match(ID) ?? [];
    if (before.length !== after.length) {
      return;
    }
    before.forEach((id, at) => {
      const other = after[at];
      // What was learnt first is what was asked with since.
      if (other !== undefined && other !== id && !this.#ids.has(id)) {
        this.#ids.set(id, other);
      }
    });
  }
}

interface ReplayedRequest {
  readonly method: HttpMethod;
  /** With the service's mount point. */
  readonly path: string;
  readonly version?: string;
  readonly contentType?: string;
  readonly body?: string;
}

/** Asks the services of a cluster as those have asked whom another one knew. */
export interface ReplaySession {
  /** @param caller null: nobody @param placing it says where a server is built, as administrators may */
  request(caller: RecordedCaller | null, request: ReplayedRequest, placing?: boolean): Promise<HttpResponse>;
}

interface ReplaySessionPlace {
  readonly http: HttpClient;
  /** The cluster's address. */
  readonly url: string;
  readonly ids: IdMap;
  /** Is told of what the cluster did not have, and was made for those who ask. */
  readonly made: (text: string) => void;
}

export function openReplaySession(
  session: Pick<HostSession, "call">,
  { http, url, ids, made }: ReplaySessionPlace,
): ReplaySession {
  const known = new Map<string, StandIn>();

  async function standIn(caller: RecordedCaller, placing: boolean): Promise<StandIn> {
    const now = JSON.parse(ids.translate(JSON.stringify(caller))) as RecordedCaller;
    const found = await session.call("stand_in", { caller: now, placing });
    ids.learn(caller, found.caller);
    for (const text of found.made) {
      made(text);
    }
    return found;
  }

  /** Undefined: they may have none here. @param isAnother the one before is not valid any more */
  async function tokenFor(caller: RecordedCaller, placing: boolean, isAnother: boolean): Promise<string | undefined> {
    const key = JSON.stringify([caller, placing]);
    const before = isAnother ? undefined : known.get(key);
    const found = before ?? (await standIn(caller, placing));
    known.set(key, found);
    return found.token ?? undefined;
  }

  function ask(token: string | undefined, { method, path, version, contentType, body }: ReplayedRequest) {
    return http.request({
      method,
      url: `${url}${path}`,
      headers: {
        ...(token === undefined ? {} : { "x-auth-token": token }),
        accept: "application/json",
        ...(version === undefined ? {} : versionHeader(version)),
        ...(contentType === undefined || body === undefined ? {} : { "content-type": contentType }),
      },
      ...(body === undefined ? {} : { body }),
    });
  }

  return {
    request: async (caller, request, placing = false) => {
      if (caller === null) {
        return ask(undefined, request);
      }
      const response = await ask(await tokenFor(caller, placing, false), request);
      // A token ends with its hour, or with a change of the password.
      return response.status === 401 ? ask(await tokenFor(caller, placing, true), request) : response;
    },
  };
}

/** `compute 2.79`, or `2.79` as Nova's own header had it. */
function versionHeader(version: string): Readonly<Record<string, string>> {
  return version.includes(" ") ? { "openstack-api-version": version } : { "x-openstack-nova-api-version": version };
}

/** The one of the same name, if they have names; else the one in the same place. */
function partner(each: unknown, at: number, others: readonly unknown[]): unknown {
  if (!isObject(each)) {
    return others[at];
  }
  const names = NAMES.filter((name) => typeof each[name] === "string");
  if (names.length === 0) {
    return others[at];
  }
  return others.find((other) => isObject(other) && names.every((name) => other[name] === each[name]));
}
