import type { PlantedBug } from "../planted-bug.js";

export const bug1852610: PlantedBug = {
  bug: 1852610,
  what: "a service is deleted while moves from it wait for their end",
  profile: "services",
  edits: [
    {
      file: "src/control-plane/conductor/service-delete.ts",
      find: "  if (moves.length > 0) {",
      replace: "  if (moves.length > Number.MAX_SAFE_INTEGER) {",
    },
    {
      file: "src/control-plane/conductor/service-delete.ts",
      find: "    if (residues.length > 0 && !deletion.removes) {",
      replace: "    if (residues.length > Number.MAX_SAFE_INTEGER) {",
    },
  ],
};
