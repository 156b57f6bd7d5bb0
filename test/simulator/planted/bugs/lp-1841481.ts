import type { PlantedBug } from "../planted-bug.js";

export const bug1841481: PlantedBug = {
  bug: 1841481,
  what: "an instance lands on a node while the nodes are listed",
  profile: "listings",
  quirks: ["ironic-instances-before-nodes", "ironic-unlisted-is-deleted"],
};
