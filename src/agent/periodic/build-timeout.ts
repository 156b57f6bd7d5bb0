import { requestId } from "../context.js";
import type { AgentParts } from "../parts.js";

/** Spec 4.10: instances that build for more than `instance_build_timeout` seconds are set to error. */
export async function checkInstanceBuildTime(parts: AgentParts): Promise<void> {
  const latest = parts.runtime.clock.now() - parts.config.defaults.instanceBuildTimeout * 1000;
  const building = await parts.conductor.call("instances_by_filters", {
    filters: { vmStates: ["building"], host: parts.host, deleted: false },
  });
  for (const { uuid } of building.filter(({ createdAt }) => createdAt < latest)) {
    parts.logger.warn("the instance took too long to build; it is set to error", { instance: uuid });
    await parts.conductor.call(
      "instance_save",
      { uuid, changes: { vmState: "error", taskState: null } },
      { requestId: requestId(parts) },
    );
  }
}
