import type { ServiceHandler, ServiceRequest, ServiceResponse } from "../runtime/http-server.js";
import type { AgentBus } from "./conductor/agent-messages.js";
import type { HostAgent } from "./conductor/methods/host-methods.js";
import type { ValidateToken } from "./credentials.js";
import type { PlacementRecords } from "./placement/service.js";
import type { RequestListener } from "./request-log/request-log.js";
import type { Store } from "./store/store.js";

/** What the control plane shows to what is served beside it, in its own process. */
export interface Inside {
  readonly store: Store;
  /** The embedded Placement holds them; undefined: it is elsewhere. */
  readonly placement: PlacementRecords | undefined;
  readonly bus: AgentBus;
  /** The agents whose processes are known here, and how they are. */
  readonly agents: () => Promise<readonly HostAgent[]>;
  /** Lets the listener hear of each host whose agent says that its guests have changed; returns what ends that. */
  readonly onGuests: (listener: (host: string) => void) => () => void;
  /** Finds whose token it is; undefined: it is not valid. */
  readonly whose: ValidateToken;
  /** Lets the listener hear of every request to the services from now on; returns what ends that. Without a listener it costs nothing. */
  readonly onRequest: (listener: RequestListener) => () => void;
  /** Milliseconds without a heartbeat after which a service is down. */
  readonly downTime: number;
  /** `http://127.0.0.1:8774`, once the control plane listens. */
  readonly url: () => string;
}

/** What is served beside the control plane's own services, on the loopback interface alone. */
export interface Extension {
  /** By mount point. Their requests are nobody's business: they are neither logged nor counted. */
  readonly services: Readonly<Record<string, ServiceHandler>>;
  /** What is at the root of the control plane; undefined: nothing for this request. */
  readonly root: (request: ServiceRequest) => Promise<ServiceResponse> | undefined;
  /** Called before the listener closes: answers that go on for ever end here. */
  close(): void;
}
