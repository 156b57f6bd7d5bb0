import type { ServiceHandler, ServiceRequest, ServiceResponse } from "../runtime/http-server.js";
import type { AgentBus } from "./conductor/agent-messages.js";
import type { HostAgent } from "./conductor/methods/host-methods.js";
import type { ValidateToken } from "./credentials.js";
import type { PlacementRecords } from "./placement/service.js";
import type { RequestListener } from "./request-log/request-log.js";
import type { Store } from "./store/store.js";

/** Access to the control plane for an extension in the same process. */
export interface Inside {
  readonly store: Store;
  /** Records of the embedded Placement; undefined if Placement is external. */
  readonly placement: PlacementRecords | undefined;
  readonly bus: AgentBus;
  /** Lists the agents of known processes with their states. */
  readonly agents: () => Promise<readonly HostAgent[]>;
  /** Calls the listener with each host whose agent reports changed guests; returns an unsubscribe function. */
  readonly onGuests: (listener: (host: string) => void) => () => void;
  /** Validates a token; undefined if it is not valid. */
  readonly whose: ValidateToken;
  /**
   * Calls the listener for every request to the services; returns an unsubscribe function. Without listeners it has no
   * cost.
   */
  readonly onRequest: (listener: RequestListener) => () => void;
  /** Milliseconds without a heartbeat after which a service is down. */
  readonly downTime: number;
  /** `http://127.0.0.1:8774`, once the control plane listens. */
  readonly url: () => string;
}

/** Services of an extension, which are only available on the loopback interface. */
export interface Extension {
  /** Handlers by mount point. Their requests are neither logged nor counted. */
  readonly services: Readonly<Record<string, ServiceHandler>>;
  /** Handles a request to the root; undefined for the default response. */
  readonly root: (request: ServiceRequest) => Promise<ServiceResponse> | undefined;
  /** Ends endless responses; called before the listener closes. */
  close(): void;
}
