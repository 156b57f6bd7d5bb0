import { CachedAccess, type PlacementAccess } from "../placement-client/access/placement-access.js";
import type { HttpClient } from "../runtime/http.js";
import { joined, type ServiceHandler } from "../runtime/http-server.js";
import type { Runtime } from "../runtime/runtime.js";
import { EventLoopTicks } from "./event-loop.js";
import type { Identity, sharedServiceToken } from "./identity/identity.js";
import { createPlacement, type PlacementRecords } from "./placement/service.js";
import type { Store } from "./store/store.js";

/** Access to a cluster's Placement, for conductor and scheduler, and for agents. */
export interface ClusterPlacement {
  readonly http: HttpClient;
  readonly access: PlacementAccess;
  /** Records of the embedded Placement; undefined if Placement is external. */
  readonly records: PlacementRecords | undefined;
  /** Handlers to mount; none if Placement is external. */
  readonly services: Readonly<Record<string, ServiceHandler>>;
  /** @param origin URL by which the agent reached the control plane, which also serves the embedded Placement */
  readonly agentAccess: (origin: string) => Promise<{
    readonly endpoint: string;
    readonly token: string;
    readonly expiresAt: number;
  }>;
}

const MOUNT = "/placement";

/** URL of the Placement in this process; never resolved. */
const IN_PROCESS = "http://placement.in-process";

/** Creates the embedded Placement in this process. @param options.rootUrl the control plane's URL, known once it listens */
export function embeddedPlacement(options: {
  readonly runtime: Runtime;
  readonly store: Store;
  readonly identity: Identity;
  readonly agentToken: ReturnType<typeof sharedServiceToken>;
  readonly rootUrl: () => string;
  /** Observes requests of conductor and scheduler, which pass no listener. */
  readonly watched: (mount: string, handler: ServiceHandler) => ServiceHandler;
}): ClusterPlacement {
  const { runtime, store, identity, agentToken, rootUrl, watched } = options;
  const service = createPlacement({
    clock: runtime.clock,
    random: runtime.random,
    logger: runtime.logger.child({ service: "placement" }),
    database: store.database.file,
    servers: runtime.servers,
    auth: {
      strategy: "keystone",
      authenticate: (token) => (token === undefined ? undefined : identity.validate(token)),
      get identityUri() {
        return `${rootUrl()}/identity`;
      },
    },
  });
  return {
    http: inProcessHttp(IN_PROCESS, watched(MOUNT, service.handle), new EventLoopTicks(runtime)),
    access: new CachedAccess(runtime.clock, async () => {
      const issued = identity.issueServiceToken("nova");
      return {
        endpoint: IN_PROCESS,
        headers: { "x-auth-token": issued.token },
        expiresAt: issued.expiresAt,
      };
    }),
    records: service.records,
    services: { [MOUNT]: service.handle },
    agentAccess: async (origin) => ({ endpoint: `${origin}${MOUNT}`, ...agentToken() }),
  };
}

/** Milliseconds after which agents renew the token of an external Identity. */
const ASK_AGAIN = 300_000;

/** Creates the access to an external Placement, such as a real one or one shared by several clusters. */
export function createExternalPlacement(
  runtime: Pick<Runtime, "http" | "clock">,
  access: PlacementAccess,
): ClusterPlacement {
  return {
    http: runtime.http,
    access,
    records: undefined,
    services: {},
    agentAccess: async () => {
      const { endpoint, headers } = await access.credentials();
      return { endpoint, token: headers["x-auth-token"] ?? "", expiresAt: runtime.clock.now() + ASK_AGAIN };
    },
  };
}

/**
 * Creates an HTTP client whose only server is a handler in this process, so that the control plane needs no socket for
 * its Placement.
 * @param ticks yields to other work: without a socket to wait for, a thousand builds would delay all other requests
 * @internal
 */
export function inProcessHttp(endpoint: string, handler: ServiceHandler, ticks: EventLoopTicks): HttpClient {
  return {
    request: async ({ method, url, headers = {}, body = "" }) => {
      if (!url.startsWith(`${endpoint}/`) && url !== endpoint) {
        throw new Error(`${url} is not below ${endpoint}`);
      }
      const [path = "", query = ""] = splitOnce(url.slice(endpoint.length), "?");
      if (ticks.due) {
        await ticks.give();
      }
      return joined(await handler({ method, path, query, headers, body, takesRecords: true, baseUrl: endpoint }));
    },
    close: async () => undefined,
  };
}

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
