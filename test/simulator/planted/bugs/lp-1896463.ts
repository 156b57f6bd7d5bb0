import type { PlantedBug } from "../planted-bug.js";

export const bug1896463: PlantedBug = {
  bug: 1896463,
  what: "a pass sees half of an evacuation's end",
  edits: [
    {
      file: "src/agent/tracker/instance-saves.ts",
      find: `  const expected = { expectedTaskState: [...taskState], ofRequest };
  return takeOver(`,
      replace: `  const expected = { expectedTaskState: [...taskState], ofRequest };
  await tracker.context.conductor.call("instance_save", {
    uuid: instance.uuid,
    changes: {
      host: tracker.context.host,
      node: nodeName,
      computeId: tracker.nodes.get(nodeName)?.row.id ?? null,
      migrationContext: null,
    },
    ...expected,
  });
  return takeOver(`,
    },
  ],
};
