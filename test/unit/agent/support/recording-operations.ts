import type { AgentContext } from "../../../../src/agent/context.js";
import type { Operations } from "../../../../src/agent/operations/contract.js";
import { IncomingMoves } from "../../../../src/agent/operations/moves/incoming-moves.js";

/** Operations that only say that they were asked for, unless a test gives one that does something. */
export function recordingOperations(
  _context: AgentContext,
  calls: string[],
  given: Partial<Operations> = {},
): Operations {
  const note =
    (name: string) =>
    async (instance: { readonly uuid: string }, ...rest: readonly unknown[]): Promise<void> => {
      const detail = rest.filter((value) => value === "SOFT" || value === "HARD");
      calls.push([name, ...detail, instance.uuid].join(" "));
    };
  return {
    buildAndRunInstance: ({ instanceUuid }) => note("build")({ uuid: instanceUuid }),
    rebuildInstance: ({ instanceUuid }) => note("rebuild")({ uuid: instanceUuid }),
    terminateInstance: note("terminate"),
    completePartialDeletion: note("complete-deletion"),
    startInstance: note("start"),
    stopInstance: note("stop"),
    rebootInstance: note("reboot"),
    prepResize: ({ instanceUuid }) => note("prep-resize")({ uuid: instanceUuid }),
    resizeInstance: ({ instanceUuid }) => note("resize")({ uuid: instanceUuid }),
    finishResize: ({ instanceUuid }) => note("finish-resize")({ uuid: instanceUuid }),
    confirmResize: ({ instanceUuid }) => note("confirm-resize")({ uuid: instanceUuid }),
    revertResize: ({ instanceUuid }) => note("revert-resize")({ uuid: instanceUuid }),
    finishRevertResize: ({ instanceUuid }) => note("finish-revert-resize")({ uuid: instanceUuid }),
    changeState: (change, instance) => note(change)(instance),
    rescueInstance: note("rescue"),
    shelveInstance: note("shelve"),
    shelveOffloadInstance: note("offload"),
    unshelveInstance: ({ instanceUuid }) => note("unshelve")({ uuid: instanceUuid }),
    syncInstancePowerState: note("sync"),
    liveMigrations: {
      checkDestination: async () => ({}),
      checkSource: async () => ({}),
      preLiveMigration: async () => ({}),
      postAtDestination: ({ instanceUuid }) => note("post-at-destination")({ uuid: instanceUuid }),
      rollBackAtDestination: ({ instanceUuid }) => note("roll-back-at-destination")({ uuid: instanceUuid }),
      underWay: false,
      liveMigration: ({ instanceUuid }) => note("live-migration")({ uuid: instanceUuid }),
      abort: ({ instanceUuid }) => note("abort")({ uuid: instanceUuid }),
      forceComplete: ({ instanceUuid }) => note("force-complete")({ uuid: instanceUuid }),
      postCopyStarted: (uuid) => note("post-copy")({ uuid }),
      settle: async () => false,
      cancelQueued: async () => {},
      recover: async () => {},
    },
    incoming: new IncomingMoves(),
    recoverColdMoves: async () => {},
    active: 0,
    ...given,
  };
}
