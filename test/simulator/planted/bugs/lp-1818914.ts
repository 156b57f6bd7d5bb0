import type { PlantedBug } from "../planted-bug.js";

export const bug1818914: PlantedBug = {
  bug: 1818914,
  what: "a confirmation forgets the old flavor before its driver has ended",
  edits: [
    {
      file: "src/agent/operations/cold-move/confirm-resize.ts",
      find: `const STEPS = stepList<MoveProgress>("confirm_resize", {
  confirm_migration: async ({ services, move }) => {
`,
      replace: `const STEPS = stepList<MoveProgress>("confirm_resize", {
  confirm_migration: async ({ services, move }) => {
    await services.tracker.saveMove({ ...move, changes: { oldFlavor: null, newFlavor: null } });
`,
    },
  ],
};
