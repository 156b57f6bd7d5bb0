import { isUp } from "../../conductor/liveness.js";
import type { Conductor } from "../../conductor/port.js";
import type { Clock } from "../../runtime/clock.js";
import type { VirtApi } from "../../virt/virt-api.js";
import type { HostPorts } from "../network/host-ports.js";

/** What the driver of a host may ask, answered by the conductor. `serviceDownTime` in milliseconds. */
export function virtApi(options: {
  readonly host: string;
  readonly conductor: Conductor;
  readonly clock: Clock;
  readonly serviceDownTime: number;
  readonly ports: Pick<HostPorts, "plug">;
}): VirtApi {
  const { host, conductor, clock, serviceDownTime, ports } = options;
  return {
    instanceUuidsOfHost: async (given = {}) => {
      const instances = await conductor.call("instances_by_host", { host }, given);
      return instances.map(({ uuid }) => uuid);
    },
    liveHosts: async (hypervisorType, given = {}) => {
      const services = await conductor.call("services_by_hypervisor_type", { hypervisorType }, given);
      const now = clock.now();
      return services
        .filter((service) => !service.disabled && isUp(service, { now, serviceDownTime }))
        .map((service) => service.host);
    },
    waitForVifs: (uuid, network, plug, given) => ports.plug(uuid, network, plug, given),
    instanceStates: async (uuid, given = {}) => {
      const instance = await conductor.call("instance_get", { uuid }, given);
      return instance ? { vmState: instance.vmState, taskState: instance.taskState } : null;
    },
  };
}
