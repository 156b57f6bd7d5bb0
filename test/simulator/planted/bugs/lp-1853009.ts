import type { PlantedBug } from "../planted-bug.js";

export const bug1853009: PlantedBug = {
  bug: 1853009,
  what: "a node that another host has taken is deleted by the one that lost it",
  profile: "ring",
  quirks: ["unguarded-node-delete", "ironic-unlisted-is-deleted"],
};
