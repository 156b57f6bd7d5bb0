import { requestId } from "../context.js";
import type { AgentServices } from "../services.js";

/** Spec 4.10: instances that build for more than `instance_build_timeout` seconds are set to error. */
export async function checkInstanceBuildTime(services: AgentServices): Promise<void> {
  const latest = services.runtime.clock.now() - services.config.defaults.instanceBuildTimeout * 1000;
  const building = await services.conductor.call("instances_by_filters", {
    filters: { vmStates: ["building"], host: services.host, deleted: false },
  });
  for (const { uuid } of building.filter(({ createdAt }) => createdAt < latest)) {
    services.logger.warn("the instance took too long to build; it is set to error", { instance: uuid });
    await services.conductor.call(
      "instance_save",
      { uuid, changes: { vmState: "error", taskState: null } },
      { requestId: requestId(services) },
    );
  }
}
