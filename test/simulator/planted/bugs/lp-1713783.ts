import type { PlantedBug } from "../planted-bug.js";

export const bug1713783: PlantedBug = {
  bug: 1713783,
  what: "an evacuation that finds no host stays accepted",
  edits: [
    {
      file: "src/control-plane/conductor/tasks/rebuild-instance.ts",
      find: `    if (!forgotten) {
      failEvacuation(deps, task, vmState, error);`,
      replace: `    if (!forgotten) {
      endTask(deps.store, task, vmState, error);`,
    },
  ],
};
