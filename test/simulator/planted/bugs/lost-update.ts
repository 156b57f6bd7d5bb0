import type { PlantedBug } from "../planted-bug.js";

export const lostUpdate: PlantedBug = {
  bug: "lost-update",
  what: "the state of record does not compare before it swaps: of two writes one is lost",
  edits: [
    { file: "src/control-plane/store/instances.ts", find: "      assertExpectedState(found, options);\n", replace: "" },
  ],
};
