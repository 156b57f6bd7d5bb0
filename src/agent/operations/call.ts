import type { Call, Caller, OperationName, OperationServices, RequestOf } from "./contract.js";
import { OPERATIONS } from "./table.js";

const NOBODY: Caller = { assertCallerWaiting: () => {} };

/** A message, with what the table says of its method. */
export function callOf<M extends OperationName>(
  method: M,
  services: OperationServices,
  request: RequestOf<M>,
  caller: Caller = NOBODY,
): Call<M> {
  const { admission, event = `compute_${method}` } = OPERATIONS[method];
  const { instanceUuid, requestId } = request;
  return {
    method,
    admission,
    request,
    caller,
    event: { instanceUuid, requestId, event },
    services: forRequest(services, requestId),
  };
}

/** Everything that is logged with them carries the request's id. */
export function forRequest(services: OperationServices, requestId: string): OperationServices {
  const { context } = services;
  const logger = context.runtime.logger.child({ request_id: requestId });
  return { ...services, context: { ...context, runtime: { ...context.runtime, logger } } };
}
