import type { PlantedBug } from "../planted-bug.js";

export const bug1764883: PlantedBug = {
  bug: 1764883,
  what: "a source that restarts mid-evacuation does not see it",
  profile: "returns",
  edits: [
    {
      file: "src/agent/evacuation/plan.ts",
      find: `readonly MigrationStatus[] = ["accepted", "pre-migrating", "done"];`,
      replace: `readonly MigrationStatus[] = ["done"];`,
    },
  ],
};
