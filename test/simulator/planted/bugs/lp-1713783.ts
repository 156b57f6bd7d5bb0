import type { PlantedBug } from "../planted-bug.js";

export const bug1713783: PlantedBug = {
  bug: 1713783,
  what: "an evacuation that finds no host stays accepted",
  edits: [
    {
      file: "src/control-plane/conductor/tasks/rebuild-instance.ts",
      find: `    if (!forgotten) {
      failMigration(deps, task);`,
      replace: "    if (!forgotten) {",
    },
  ],
};
