import type { PlantedBug } from "../planted-bug.js";

export const bug1419785: PlantedBug = {
  bug: 1419785,
  what: "guests of instances with another host are destroyed as evacuated",
  edits: [
    {
      file: "src/agent/evacuation/plan.ts",
      find: `  if (considered.length === 0) {
    return { evacuated: new Map(), guests: [], records: [] };
  }
`,
      replace: "",
    },
    {
      file: "src/agent/evacuation/plan.ts",
      find: `  const records: EvacuationRecord[] = [];
  for (`,
      replace: `  const records: EvacuationRecord[] = [];
  for (const instance of only === undefined ? local.values() : []) {
    if (instance.host !== view.host && instance.deleted === 0 && !newest.has(instance.uuid)) {
      const migration = { id: 0, destCompute: instance.host } as Migration;
      const disks = planDisks(view, instance, migration);
      guests.push({ instance, migration, action: "destroy", disks, reason: "its host is another" });
    }
  }
  for (`,
    },
  ],
};
