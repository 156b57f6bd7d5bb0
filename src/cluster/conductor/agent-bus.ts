import type { AgentMethod, AgentMethods } from "../../conductor/methods/agent.js";
import type { ParamsOf, ResultOf } from "../../conductor/methods/method.js";

/** How the control plane talks to agents. */
export interface AgentBus {
  /**
   * Stores the message in the store, in the transaction that is open if there is one, and hands it to the host's agent
   * once, when it serves. Kept over restarts of either side.
   */
  cast<M extends AgentMethod>(host: string, method: M, params: ParamsOf<AgentMethods, M>, requestId: string): void;
  /** @throws {MessagingTimeout} at once when no agent serves the host, or after `timeout` ms (default 60,000). */
  call<M extends AgentMethod>(
    host: string,
    method: M,
    params: ParamsOf<AgentMethods, M>,
    options: { readonly requestId: string; readonly timeout?: number },
  ): Promise<ResultOf<AgentMethods, M>>;
  /** A live agent holds the host's lease and takes messages. */
  serves(host: string): boolean;
}
