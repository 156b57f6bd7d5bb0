import type { PlantedBug } from "../planted-bug.js";

export const bug1839560: PlantedBug = {
  bug: 1839560,
  what: "a node that was deleted and comes back is never made again",
  quirks: ["no-node-undelete"],
};
