import { ConductorError } from "../../conductor-client/errors.js";
import {
  AGENT_METHODS,
  type AgentCall,
  type AgentCast,
  type AgentMethod,
  type AgentMethods,
} from "../../conductor-client/methods/agent.js";
import type { ParamsOf, ResultOf } from "../../conductor-client/methods/method.js";
import { RPC_RESPONSE_TIMEOUT } from "../../conductor-client/port.js";
import { FINAL_MIGRATION_STATUSES, type Instance } from "../../records/index.js";
import type { Store } from "../store/store.js";
import type { HostLeases } from "./host-leases.js";
import { MethodChecks } from "./method-checks.js";
import type { Outbox } from "./outbox.js";

/** Shared by all conductors of the process, so that each schema is compiled once. */
const CHECKS = new MethodChecks(AGENT_METHODS);

/** Messages of the control plane to agents. */
export type AgentBus = Pick<AgentMessages, "cast" | "call" | "serves">;

/** Sends messages to agents, for the control plane or for another agent. */
export class AgentMessages {
  readonly #store: Store;
  readonly #outbox: Outbox;
  readonly #leases: HostLeases;

  constructor(store: Store, outbox: Outbox, leases: HostLeases) {
    this.#store = store;
    this.#outbox = outbox;
    this.#leases = leases;
  }

  /**
   * Stores the message, in the current transaction if there is one. The host's agent receives it once, when it serves.
   * Messages survive restarts of either side.
   */
  cast<M extends AgentCast>(host: string, method: M, params: ParamsOf<AgentMethods, M>, requestId: string): void {
    this.forwardCast(host, method, params, requestId);
  }

  /**
   * @throws {MessagingTimeout} immediately if no agent serves the host, or after `timeout` ms (default {@link
   * RPC_RESPONSE_TIMEOUT})
   */
  async call<M extends AgentCall>(
    host: string,
    method: M,
    params: ParamsOf<AgentMethods, M>,
    options: { readonly requestId: string; readonly timeout?: number },
  ): Promise<ResultOf<AgentMethods, M>> {
    // forwardCall has validated the result.
    return (await this.forwardCall(host, method, params, options)) as ResultOf<AgentMethods, M>;
  }

  /** Returns true if a connected agent has the host's lease and receives messages. */
  serves(host: string): boolean {
    return this.#outbox.server(host) !== undefined;
  }

  /** Like {@link cast}, with parameters of another agent. @throws {InvalidParameters} */
  forwardCast(host: string, method: AgentMethod, params: unknown, requestId: string): void {
    enqueueChecked(this.#store, host, method, params, requestId);
  }

  /** Like {@link call}, with parameters of another agent. @throws {InvalidParameters} */
  async forwardCall(
    host: string,
    method: AgentMethod,
    params: unknown,
    options: { readonly requestId: string; readonly timeout?: number; readonly call?: string },
  ): Promise<unknown> {
    CHECKS.checkParams(method, params);
    const session = this.#outbox.server(host);
    if (!session) {
      const known = this.#leases.holder(host) ? "its agent is not serving yet" : "no agent serves it";
      throw new ConductorError("MessagingTimeout", `host ${host}: ${method} cannot be called: ${known}`, {
        host,
        method,
      });
    }
    const { requestId, timeout = RPC_RESPONSE_TIMEOUT, call } = options;
    const meta = { host, requestId, timeout, ...(call === undefined ? {} : { call }) };
    const result = await session.ask(method, { params, meta });
    if (!CHECKS.isResult(method, result)) {
      throw new ConductorError("ConductorError", `the agent of host ${host} returned an invalid result of ${method}`);
    }
    return result;
  }
}

/** Returns a function that stores messages, as {@link AgentMessages.cast} does, for code without a connection to agents. */
export function enqueueCast(store: Store): AgentBus["cast"] {
  return (host, method, params, requestId) => enqueueChecked(store, host, method, params, requestId);
}

function enqueueChecked(store: Store, host: string, method: AgentMethod, params: unknown, requestId: string): void {
  CHECKS.checkParams(method, params);
  store.messages.enqueue({ host, method, params: JSON.stringify(params), requestId });
}

type InstanceEvents = ParamsOf<AgentMethods, "external_instance_event">["events"];

/** Returns the hosts that are involved with an instance: its own, and those of its unfinished moves. */
export function hostsOf(store: Store, { uuid, host }: Instance): readonly string[] {
  const moves = store.migrations
    .byFilters({ instanceUuid: uuid })
    .filter(({ status }) => !FINAL_MIGRATION_STATUSES.includes(status));
  const hosts = [host, ...moves.flatMap(({ sourceCompute, destCompute }) => [sourceCompute, destCompute])];
  return [...new Set(hosts.filter((one) => one !== null))];
}

/** Sends Nova's `external_instance_event` to these hosts. */
export function sendInstanceEvents(
  { store, bus }: { readonly store: Store; readonly bus: Pick<AgentBus, "cast"> },
  instance: Instance,
  events: InstanceEvents,
  requestId: string,
): void {
  for (const host of hostsOf(store, instance)) {
    bus.cast(host, "external_instance_event", { instanceUuid: instance.uuid, events: [...events] }, requestId);
  }
}
