import type { AdmittedFlow, Call, OperationName } from "../contract.js";
import { withActionEvent } from "../flow/error-wrappers.js";
import { type AdmissionRejection, admit } from "./admission.js";

/** The one place where a message that is not demanded begins; asked under the instance's lock. */
export async function begin<M extends OperationName>(flow: AdmittedFlow<M>, call: Call<M>): Promise<null> {
  const result = await admit(call.services.context, call, call.request);
  if ("rejected" in result) {
    await rejectMessage(flow, call, result.rejected);
  } else {
    await flow.run(call, result.admitted);
  }
  return null;
}

/** Says why, ends the event of the user's action with that, and changes nothing of the instance. */
async function rejectMessage<M extends OperationName>(
  flow: AdmittedFlow<M>,
  call: Call<M>,
  rejection: AdmissionRejection,
): Promise<void> {
  const { services, method, request, event } = call;
  const { kind, found, error } = rejection;
  const { logger } = services.context.runtime;
  const fields = { instance: request.instanceUuid, reason: kind };
  const host = found?.instance.host ?? null;
  if (kind === "moved" && host !== null && flow.handOn) {
    logger.info(`${method}: the instance has moved, and the message follows it to host ${host}`, fields);
    await flow.handOn(call, host);
    return;
  }
  logger[kind === "gone" ? "info" : "warn"](error.message, fields);
  if (kind !== "taken") {
    await flow.onRejected?.(call, rejection);
    return;
  }
  try {
    await withActionEvent(services.context, event, async () => {
      await flow.onRejected?.(call, rejection);
      throw error;
    });
  } catch (thrown) {
    if (thrown !== error) {
      throw thrown;
    }
  }
}
