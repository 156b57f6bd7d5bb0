import type { Asker, Call, OperationName, OperationParts, RequestOf } from "./contract.js";
import { OPERATIONS } from "./table.js";

const NOBODY: Asker = { refuseGivenUp: () => {} };

/** A message, with what the table says of its method. */
export function callOf<M extends OperationName>(
  method: M,
  parts: OperationParts,
  request: RequestOf<M>,
  asker: Asker = NOBODY,
): Call<M> {
  const { admission, event = `compute_${method}` } = OPERATIONS[method];
  const { instanceUuid, requestId } = request;
  return {
    method,
    admission,
    request,
    asker,
    event: { instanceUuid, requestId, event },
    parts: forRequest(parts, requestId),
  };
}

/** Everything that is logged with them carries the request's id. */
export function forRequest(parts: OperationParts, requestId: string): OperationParts {
  const { context } = parts;
  const logger = context.runtime.logger.child({ request_id: requestId });
  return { ...parts, context: { ...context, runtime: { ...context.runtime, logger } } };
}
