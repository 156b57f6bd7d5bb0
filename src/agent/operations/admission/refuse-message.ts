import { withActionEvent } from "../flow/error-wrappers.js";
import type { OperationParts } from "../parts.js";
import type { Message, Refusal } from "./admission.js";
import type { GatedMethod } from "./admission-rules.js";

/** What a refused message leaves to be done, none of it to the instance. */
export interface Leftovers {
  /** The instance is on another host, and the request is wanted there. */
  readonly handOn?: (parts: OperationParts, host: string) => Promise<unknown>;
  /** What was claimed for the message is given back. */
  readonly giveBack?: (parts: OperationParts, refusal: Refusal) => Promise<void>;
}

/** Says why, ends the event of the user's action with that, and changes nothing of the instance. */
export async function refuseMessage(
  parts: OperationParts,
  method: GatedMethod,
  message: Message,
  refusal: Refusal,
  { handOn, giveBack }: Leftovers = {},
): Promise<void> {
  const { kind, found, error } = refusal;
  const { logger } = parts.context.runtime;
  const fields = { instance: message.instanceUuid, reason: kind };
  const host = found?.instance.host ?? null;
  if (kind === "moved" && host !== null && handOn) {
    logger.info(`${method}: the instance has moved, and the message follows it to host ${host}`, fields);
    await handOn(parts, host);
    return;
  }
  logger[kind === "gone" ? "info" : "warn"](error.message, fields);
  if (kind !== "taken") {
    await giveBack?.(parts, refusal);
    return;
  }
  const { instanceUuid, requestId } = message;
  const event = { instanceUuid, requestId, event: eventOf(method) };
  try {
    await withActionEvent(parts.context, event, async () => {
      await giveBack?.(parts, refusal);
      throw error;
    });
  } catch (thrown) {
    if (thrown !== error) {
      throw thrown;
    }
  }
}

/** As the operation itself would name it. */
function eventOf(method: GatedMethod): string {
  if (method === "build_and_run_instance") {
    return "compute__do_build_and_run_instance";
  }
  return `compute_${method === "evacuate_instance" ? "rebuild_instance" : method}`;
}
