import type { AgentContext, Operations } from "../../../../src/agent/contracts.js";

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
    unpauseInstance: note("unpause"),
    syncInstancePowerState: note("sync"),
    active: 0,
    ...given,
  };
}
