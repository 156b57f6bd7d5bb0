import type { Service } from "../../records/index.js";
import type { AgentServices } from "../services.js";

/** Nova's prefix of a reason that no operator gave. */
const AUTOMATIC = "AUTO: ";
/** Letters that the record takes. */
const LONGEST_REASON = 255;

/** Milliseconds that the conductor may take: the agent ends without, too. */
const DISABLE_TIMEOUT_MS = 10_000;

/** Keeps new servers away from a host whose agent gives up; the operator enables it again. Never throws. */
export async function disableService(
  { conductor, tracker, runtime, logger }: AgentServices,
  { id }: Service,
  reason: Error,
): Promise<void> {
  const text = `${AUTOMATIC}${reason.message}`.slice(0, LONGEST_REASON);
  try {
    await conductor.call("service_disable", { id, reason: text }, { timeout: DISABLE_TIMEOUT_MS });
    logger.warn(`the service of this host is disabled: ${text}`);
    await tracker.setHostEnabled(false, `req-${runtime.random.uuid()}`);
  } catch (error) {
    logger.error("the service of this host could not be disabled", { err: error });
  }
}
