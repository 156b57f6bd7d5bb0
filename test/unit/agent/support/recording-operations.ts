import type { AgentContext } from "../../../../src/agent/context.js";
import type { InstanceMethod } from "../../../../src/agent/operations/flow/contract.js";
import { OutgoingMigrations } from "../../../../src/agent/operations/flow/outgoing-migrations.js";
import { IncomingMoves, InterruptedRequests } from "../../../../src/agent/operations/flow/unfinished-work.js";
import type { Operations } from "../../../../src/agent/operations/operations.js";

/** Replaces operations in a test. */
export type OperationOverrides = Partial<Record<InstanceMethod, () => Promise<unknown>>> &
  Partial<Pick<Operations, "completePartialDeletion" | "interrupted" | "syncInstancePowerState">>;

/** Names in the recorded calls; default: the method without `_instance`. */
const WORDS: Readonly<Partial<Record<InstanceMethod, string>>> = {
  build_and_run_instance: "build",
  shelve_offload_instance: "offload",
  soft_delete_instance: "softDelete",
};

/** Creates operations that only record their calls, unless a test overrides them. */
export function recordingOperations(
  context: AgentContext,
  calls: string[],
  overrides: OperationOverrides = {},
): Operations {
  const note = async (name: string, uuid: string): Promise<void> => {
    calls.push(`${name} ${uuid}`);
  };
  return {
    run: async (method, request) => {
      const own = overrides[method];
      if (own) {
        await own();
        return null as never;
      }
      const kind = "type" in request ? [request.type] : [];
      await note([WORDS[method] ?? method.replace("_instance", ""), ...kind].join(" "), request.instanceUuid);
      return null as never;
    },
    completePartialDeletion: overrides.completePartialDeletion ?? (({ uuid }) => note("complete-deletion", uuid)),
    syncInstancePowerState: overrides.syncInstancePowerState ?? (({ uuid }) => note("sync", uuid)),
    updatePower: ({ target, instanceUuid }) => note(`power-update ${target}`, instanceUuid),
    extendVolume: ({ volumeId, instanceUuid }) => note(`extend ${volumeId}`, instanceUuid),
    recoverVolumes: ({ uuid }) => note("recover-volumes", uuid),
    recoverColdMoves: async () => {},
    recoversAgain: false,
    exclusively: (_uuid, work) => work(),
    recoverLiveMigrations: async () => {},
    findLeftGuests: async () => {},
    removeLeftGuests: async () => {},
    incoming: new IncomingMoves(),
    outgoing: new OutgoingMigrations(context),
    interrupted: overrides.interrupted ?? new InterruptedRequests(),
    active: 0,
  };
}
