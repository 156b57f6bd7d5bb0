import { ConductorError, MessagingTimeout, ObjectActionError } from "../../../conductor-client/errors.js";
import type { AgentMethods } from "../../../conductor-client/methods/agent.js";
import type { ParamsOf, ResultOf } from "../../../conductor-client/methods/method.js";
import { retry } from "../../../runtime/retry.js";
import { OperationError } from "../flow/errors.js";
import { type DestinationMethod, TIMEOUTS } from "./destination-timeouts.js";
import type { Flow } from "./flow.js";

/** The destination did not do what it was asked. */
export class DestinationFailed extends OperationError {
  override readonly name = "DestinationFailed";
  /** Nobody answered; whether it was done is unknown. */
  readonly silent: boolean;
  /** It says that the guest is not there. */
  readonly hasNoGuest: boolean;
  /** It says that a guest runs there, which it does not remove unasked. */
  readonly guestRuns: boolean;

  constructor(host: string, method: DestinationMethod, cause: ConductorError) {
    super(`destination ${host} of the live migration could not ${method}: ${cause.message}`, { cause });
    this.silent = cause instanceof MessagingTimeout;
    const reason = cause instanceof ObjectActionError ? cause.data.reason : undefined;
    this.hasNoGuest = reason === NO_GUEST;
    this.guestRuns = reason === GUEST_RUNS;
  }
}

export const NO_GUEST = "no guest";
export const GUEST_RUNS = "guest runs";

/** Milliseconds between two questions to a destination that is away. */
const PAUSE = 5_000;

/**
 * As {@link callDestination}, of what may be repeated: a destination that is away, has
 * as long as an answer may take to come back, as a queue of messages would keep the request for it.
 * @throws {DestinationFailed}; what the own conductor throws passes as it is.
 */
export async function callReturningDestination<M extends DestinationMethod>(
  flow: Pick<Flow, "services" | "dest" | "requestId">,
  method: M,
  params: ParamsOf<AgentMethods, M>,
): Promise<ResultOf<AgentMethods, M>> {
  const { clock, timers } = flow.services.context.runtime;
  const deadline = clock.monotonic() + TIMEOUTS[method];
  return retry(timers, () => callDestination(flow, method, params), {
    attempts: Number.POSITIVE_INFINITY,
    delay: () => PAUSE,
    retryOn: (error) => error instanceof DestinationFailed && error.silent && clock.monotonic() + PAUSE < deadline,
  });
}

/** @throws {DestinationFailed}; what the own conductor throws passes as it is. */
export async function callDestination<M extends DestinationMethod>(
  { services, dest, requestId }: Pick<Flow, "services" | "dest" | "requestId">,
  method: M,
  params: ParamsOf<AgentMethods, M>,
): Promise<ResultOf<AgentMethods, M>> {
  try {
    return await services.context.conductor.callAgent(dest, method, params, { requestId, timeout: TIMEOUTS[method] });
  } catch (error) {
    if (error instanceof ConductorError && error.name !== "ConductorUnreachable") {
      throw new DestinationFailed(dest, method, error);
    }
    throw error;
  }
}
