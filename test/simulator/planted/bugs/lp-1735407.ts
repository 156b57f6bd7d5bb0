import type { PlantedBug } from "../planted-bug.js";

export const bug1735407: PlantedBug = {
  bug: 1735407,
  what: "an evacuation goes to a host that its server group forbids",
  profile: "groups",
  quirks: ["evacuation-breaks-group-policy"],
};
