import type { PlantedBug } from "../planted-bug.js";

export const bug1821594: PlantedBug = {
  bug: 1821594,
  what: "a confirmation that fails leaves the source its allocations",
  profile: "gentle",
  edits: [
    {
      file: "src/agent/operations/cold-move/confirm-resize.ts",
      find: `    failure = { error };
  }
  try {
    await runSteps(services, SETTLE, progress);`,
      replace: `    failure = { error };
  }
  try {
    if (failure === null) {
      await runSteps(services, SETTLE, progress);
    }`,
    },
  ],
};
