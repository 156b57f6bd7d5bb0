import type { PlantedBug } from "../planted-bug.js";

export const bug1896463: PlantedBug = {
  bug: 1896463,
  what: "a pass sees half of an evacuation's end",
  edits: [
    {
      file: "src/agent/tracker/resource-tracker.ts",
      find: `    const expected = { expectedTaskState: [...taskState], ofRequest };
    return this.#takeOver(`,
      replace: `    const expected = { expectedTaskState: [...taskState], ofRequest };
    await this.#state.conductor.call("instance_save", {
      uuid: instance.uuid,
      changes: {
        host: this.#state.host,
        node,
        computeId: this.#state.nodes.get(node)?.row.id ?? null,
        migrationContext: null,
      },
      ...expected,
    });
    return this.#takeOver(`,
    },
  ],
};
