import type { PlantedBug } from "../planted-bug.js";

/** Upstream's is about affinity, which this cloud has not; the rule that it breaks here is that of enabled services. */
export const bug1735407: PlantedBug = {
  bug: 1735407,
  what: "an evacuation goes to the named host against the rules",
  edits: [
    {
      file: "src/cluster/conductor/tasks/rebuild-instance.ts",
      find: "    requestedHost: task.host ?? undefined,",
      replace: "    requestedHost: task.host ?? undefined,\n    forced: task.host !== null,",
    },
    {
      file: "src/cluster/scheduler/scheduler.ts",
      find: `        rootRequired: requiredTraits(),`,
      replace: `        rootRequired: request.forced ? [] : requiredTraits(),`,
    },
  ],
};
