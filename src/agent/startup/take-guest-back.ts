import type { Instance } from "../../records/index.js";
import { requestId } from "../context.js";
import { mayBeSetAside } from "../operations/moves/set-aside.js";
import type { AgentServices } from "../services.js";
import { planTakeGuestBack } from "./plan-move-recovery.js";
import { recoverMove } from "./recover-move.js";
import { unlessTaken } from "./unless-taken.js";

/**
 * For a host that has not died, only been cut off, while an evacuation ended a move of its own and then failed: what its start
 * would have done (spec 2.6 row 15'). Nothing is done while an evacuation may succeed still, or this process is at the move.
 */
export async function takeGuestsBack(
  services: AgentServices,
  instances: readonly Instance[],
  pending: ReadonlySet<string>,
): Promise<void> {
  for (const instance of instances) {
    if (instance.taskState === null && mayBeSetAside(instance) && !pending.has(instance.uuid)) {
      await retriedLater(services, instance.uuid);
    }
  }
}

/** What hinders one does not keep the pass from the others. */
async function retriedLater(services: AgentServices, uuid: string): Promise<void> {
  try {
    await takeGuestBack(services, uuid);
  } catch (err) {
    services.logger.error("what an evacuation left of a move could not be settled; it is tried again", {
      instance: uuid,
      err,
    });
  }
}

/** Spec 2.6 row 15'. What is left of a move that an evacuation has ended comes to its end, if there is such. */
export async function takeGuestBack(services: AgentServices, uuid: string): Promise<void> {
  await unlessTaken(services, { instance: uuid }, () =>
    services.operations.exclusively(uuid, async () => {
      const instance = await services.conductor.call("instance_get", { uuid });
      if (instance?.host !== services.host || !mayBeSetAside(instance) || services.operations.outgoing.has(uuid)) {
        return;
      }
      await recoverMove(services, instance, await planTakeGuestBack(services, instance), requestId(services));
    }),
  );
}
