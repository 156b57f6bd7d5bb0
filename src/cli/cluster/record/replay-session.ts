import type { Impersonation, RecordedCaller } from "../../../conductor-client/methods/cluster.js";
import type { HostSession } from "../../../conductor-client/port.js";
import { isObject } from "../../../runtime/collections.js";
import type { HttpClient, HttpMethod, HttpResponse } from "../../../runtime/http.js";

/** Matches ids of OpenStack's services: with hyphens, or without in Identity. */
const ID = /\b(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})\b/g;

/** Fields that identify elements of lists, independently of their order. */
const NAMES = ["name", "host", "hypervisor_hostname", "binary", "action"];

/** Maps ids of one cloud to those of another. Learns them by comparing responses to the same requests. */
export class IdMap {
  readonly #ids = new Map<string, string>();

  of(id: string): string | undefined {
    return this.#ids.get(id);
  }

  /** Replaces every known id in a text. */
  translate(text: string): string {
    return text.replaceAll(ID, (id) => this.#ids.get(id) ?? id);
  }

  /** Compares a recorded response with the new one. */
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

  /** Learns corresponding ids within strings, such as links. */
  #learnWithin(then: string, now: string): void {
    const before = then.match(ID) ?? [];
    const after = now.match(ID) ?? [];
    if (before.length !== after.length) {
      return;
    }
    before.forEach((id, at) => {
      const other = after[at];
      // The first mapping wins, since later requests were made with it.
      if (other !== undefined && other !== id && !this.#ids.has(id)) {
        this.#ids.set(id, other);
      }
    });
  }
}

interface ReplayedRequest {
  readonly method: HttpMethod;
  /** Includes the service's mount point. */
  readonly path: string;
  readonly version?: string;
  readonly contentType?: string;
  readonly body?: string;
}

/** Sends requests to the services of a cluster, as callers known in another one. */
export interface ReplaySession {
  /**
   * @param caller null for unauthenticated requests
   * @param placing the request selects the host of a server, which needs administrator rights
   */
  request(caller: RecordedCaller | null, request: ReplayedRequest, placing?: boolean): Promise<HttpResponse>;
}

interface ReplaySessionPlace {
  readonly http: HttpClient;
  /** The cluster's address. */
  readonly url: string;
  readonly ids: IdMap;
  /** Called for each entity that the cluster lacked and that was created for callers. */
  readonly made: (text: string) => void;
}

export function openReplaySession(
  session: Pick<HostSession, "call">,
  { http, url, ids, made }: ReplaySessionPlace,
): ReplaySession {
  const known = new Map<string, Impersonation>();

  async function impersonate(caller: RecordedCaller, placing: boolean): Promise<Impersonation> {
    const now = JSON.parse(ids.translate(JSON.stringify(caller))) as RecordedCaller;
    const found = await session.call("stand_in", { caller: now, placing });
    ids.learn(caller, found.caller);
    for (const text of found.made) {
      made(text);
    }
    return found;
  }

  /**
   * Returns a token; undefined if the caller may not have one in this cluster.
   * @param isAnother the last token is no longer valid
   */
  async function tokenFor(caller: RecordedCaller, placing: boolean, isAnother: boolean): Promise<string | undefined> {
    const key = JSON.stringify([caller, placing]);
    const before = isAnother ? undefined : known.get(key);
    const found = before ?? (await impersonate(caller, placing));
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
      // A token expires after an hour, and is revoked by a password change.
      return response.status === 401 ? ask(await tokenFor(caller, placing, true), request) : response;
    },
  };
}

/** Returns the header for `compute 2.79`, or for `2.79` from Nova's own header. */
function versionHeader(version: string): Readonly<Record<string, string>> {
  return version.includes(" ") ? { "openstack-api-version": version } : { "x-openstack-nova-api-version": version };
}

/** Returns the element with the same names; without names, the one at the same index. */
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
