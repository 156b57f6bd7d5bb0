import type { Service } from "../../records/index.js";
import { ComputeServiceInUse, ServiceNotUnique } from "./errors.js";
import type { TrackerState } from "./tracker-state.js";

/** @throws ComputeServiceInUse for another service than the one bound, ServiceNotUnique for another host's. */
export function bindService(tracker: TrackerState, service: Service): void {
  const { context, binding } = tracker;
  if (service.host !== context.host) {
    throw new ServiceNotUnique(
      `the tracker of host ${context.host} was given the service of host ${service.host}: start one agent per host`,
    );
  }
  if (binding.serviceId !== null && binding.serviceId !== service.id) {
    throw new ComputeServiceInUse(
      `host ${context.host} is bound to service ${binding.serviceId} and was given service ${service.id}: ` +
        "the service was deleted and made again while this agent ran; restart the agent",
    );
  }
  binding.serviceId = service.id;
  binding.disabled = service.disabled;
}
