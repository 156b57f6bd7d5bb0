import type { RecordedCaller, StandIn } from "../../../conductor-client/methods/recorded-caller.js";
import type { HostSession } from "../../../conductor-client/port.js";
import type { HttpClient, HttpMethod, HttpResponse } from "../../../runtime/http.js";
import type { IdMap } from "./id-map.js";

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
