import { isConductorError } from "../conductor-client/errors.js";
import { PublicError } from "../runtime/error-messages.js";
import type { AgentContext } from "./context.js";
import { StartRejectedError } from "./rejections.js";

/** Thrown instead of acting when the host's lease is lost: another agent may be acting for the host. */
export class HostLeaseLost extends PublicError {
  override readonly name = "HostLeaseLost";

  constructor(host: string, reason: string) {
    super(
      `the lease of host ${host} is lost: ${reason}. Nothing was changed since; make sure that only one agent runs for the host, then restart it`,
    );
  }
}

/** Acquires the host's lease (spec 2.4 G6): of two agents of one host only one acts. @throws {StartRejectedError} */
export async function acquireHostLease(context: AgentContext): Promise<void> {
  try {
    await context.conductor.acquireLease();
  } catch (error) {
    if (!isConductorError(error, "HostLeaseHeld")) {
      throw error;
    }
    const { pid, machine, bootId } = error.data;
    throw new StartRejectedError("host-lease-held", {
      found:
        pid === undefined
          ? `another agent acts for host ${context.host}: ${error.message}`
          : `another agent acts for host ${context.host}: pid ${pid} on machine ${machine}, boot id ${bootId}`,
      hint: "stop it, or give this agent its own --host and state_path; after a crash, wait until the lease has expired",
      records: Object.fromEntries(Object.entries(error.data).map(([name, value]) => [name, String(value)])),
    });
  }
}

/** Call this before every irreversible action. @throws {HostLeaseLost} */
export function requireHostLease(context: Pick<AgentContext, "host" | "conductor">, purpose: string): void {
  if (!context.conductor.leaseHeld) {
    throw new HostLeaseLost(context.host, `it was not renewed in time, so that this agent did not ${purpose}`);
  }
}
