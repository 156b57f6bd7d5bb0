import { CachedAccess } from "../placement-client/access/cached-access.js";
import type { PlacementAccess } from "../placement-client/access/placement-access.js";
import type { HttpClient } from "../runtime/http.js";
import type { Runtime } from "../runtime/runtime.js";
import type { ServiceHandler } from "../runtime/service.js";
import type { Identity } from "./identity/identity.js";
import type { sharedServiceToken } from "./identity/shared-service-token.js";
import { inProcessHttp } from "./in-process-http.js";
import { createPlacement, type PlacementRecords } from "./placement/service.js";
import type { Store } from "./store/store.js";
import { EventLoopTicks } from "./time-slices.js";

/** The Placement of a cluster: the access of conductor and scheduler, and the access that agents get. */
export interface ClusterPlacement {
  readonly http: HttpClient;
  readonly access: PlacementAccess;
  /** The embedded Placement holds them; undefined: it is elsewhere. */
  readonly records: PlacementRecords | undefined;
  /** What is to be mounted; nothing when Placement is elsewhere. */
  readonly services: Readonly<Record<string, ServiceHandler>>;
  /** @param origin where the agent found the control plane: so does it find the embedded Placement */
  readonly agentAccess: (origin: string) => Promise<{
    readonly endpoint: string;
    readonly token: string;
    readonly expiresAt: number;
  }>;
}

const MOUNT = "/placement";

/** Stands for the Placement of this process; nothing is looked up. */
const IN_PROCESS = "http://placement.in-process";

/** The embedded one, in this process. @param options.rootUrl of the control plane, known once it listens */
export function embeddedPlacement(options: {
  readonly runtime: Runtime;
  readonly store: Store;
  readonly identity: Identity;
  /** For agents. */
  readonly agentToken: ReturnType<typeof sharedServiceToken>;
  readonly rootUrl: () => string;
  /** Sees what the conductor and the scheduler ask, which comes through no door. */
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

/** Milliseconds after which agents ask again for what an outside Identity gave. */
const ASK_AGAIN = 300_000;

/** One that runs elsewhere: a real Placement, or one shared by several clusters. */
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
