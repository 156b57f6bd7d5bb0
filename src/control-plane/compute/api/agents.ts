import { isConductorError } from "../../../conductor-client/errors.js";
import { isUp as isUpAt } from "../../../conductor-client/liveness.js";
import type { AgentCall, AgentMethods } from "../../../conductor-client/methods/agent.js";
import type { ParamsOf, ResultOf } from "../../../conductor-client/methods/method.js";
import type { Service } from "../../../records/index.js";
import { EventLoopTicks } from "../../event-loop.js";
import { conflict, HttpError, notFound } from "../../http/http-error.js";
import type { Call } from "./call.js";
import type { ComputeDeps } from "./deps.js";

/** Nova's error for an operation that the driver does not implement. */
export const notSupported = (): HttpError => new HttpError(501, "The requested functionality is not supported.");

/**
 * Calls a host's agent and returns its result while the client waits. If no agent replies, Nova's API responds with
 * 500. Here it is 409, as for requests that move a server, since a stopped agent is not an internal error.
 * @param verb operation that the error names when the instance's state forbids it
 * @throws {HttpError} 404, 409, 501
 */
export async function askAgent<M extends AgentCall>(
  { deps: { bus }, requestId }: Call,
  host: string,
  method: M,
  params: ParamsOf<AgentMethods, M>,
  verb: string,
): Promise<ResultOf<AgentMethods, M>> {
  try {
    return await bus.call(host, method, params, { requestId });
  } catch (error) {
    throw faultOf(error, verb);
  }
}

function faultOf(error: unknown, verb: string): unknown {
  if (isConductorError(error, "NotImplementedError")) {
    return notSupported();
  }
  if (isConductorError(error, "InstanceNotFound")) {
    return notFound(error.message);
  }
  if (isConductorError(error, "InstanceInvalidState")) {
    const { attr, state, instance_uuid: uuid } = error.data;
    return conflict(`Cannot '${verb}' instance ${uuid} while it is in ${attr} ${state}`);
  }
  if (isConductorError(error, "InstancePasswordSetFailed")) {
    return conflict(error.message);
  }
  return isConductorError(error, "MessagingTimeout") ? conflict("Service is unavailable at this time.") : error;
}

/** Returns whether the service is up now (`service_down_time`). */
export function isUp(
  { clock, serviceDownTime }: Pick<ComputeDeps, "clock" | "serviceDownTime">,
  service: Service,
): boolean {
  return isUpAt(service, { now: clock.now(), serviceDownTime: serviceDownTime * 1000 });
}

/** Services read from the database per query. */
const ROWS = 500;

/**
 * Yields all services in batches. Ten thousand services take about 0.1 s, so other requests get event-loop ticks in
 * between.
 */
export async function* allServices(
  deps: Pick<ComputeDeps, "store" | "clock" | "timers">,
  filter: { readonly host?: string; readonly binary?: string } = {},
): AsyncGenerator<readonly Service[]> {
  const ticks = new EventLoopTicks(deps);
  let after = 0;
  for (;;) {
    const services = deps.store.services.list({ ...filter, after, limit: ROWS });
    yield services;
    const last = services.at(-1);
    if (last === undefined || services.length < ROWS) {
      return;
    }
    after = last.id;
    if (ticks.due) {
      await ticks.give();
    }
  }
}
