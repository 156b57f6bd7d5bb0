import type { PlantedBug } from "../planted-bug.js";

export const bug2085975: PlantedBug = {
  bug: 2085975,
  what: "who restarts after an evacuation asks itself about shared storage",
  edits: [
    {
      file: "src/agent/operations/flow/guest-options.ts",
      find: "    migration.destCompute ??",
      replace: "    (view.host as string | null) ??",
    },
  ],
};
