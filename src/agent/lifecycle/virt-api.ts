import { isUp } from "../../conductor-client/liveness.js";
import type { Conductor } from "../../conductor-client/port.js";
import type { Clock } from "../../runtime/clock.js";
import type { CallOptions } from "../../virt/types.js";
import type { VirtApi } from "../../virt/virt-api.js";
import type { HostPorts } from "../network/host-ports.js";

export interface ConductorVirtApiOptions {
  readonly host: string;
  readonly conductor: Conductor;
  readonly clock: Clock;
  /** Milliseconds. */
  readonly serviceDownTime: number;
  readonly ports: Pick<HostPorts, "plug">;
}

/** What the driver of a host may ask, answered by the conductor. */
export class ConductorVirtApi implements VirtApi {
  readonly #options: ConductorVirtApiOptions;

  constructor(options: ConductorVirtApiOptions) {
    this.#options = options;
  }

  async instanceUuidsOfHost(options: CallOptions = {}) {
    const { conductor, host } = this.#options;
    const instances = await conductor.call("instances_by_host", { host }, options);
    return instances.map(({ uuid }) => uuid);
  }

  async liveHosts(hypervisorType: string, options: CallOptions = {}) {
    const { conductor, clock, serviceDownTime } = this.#options;
    const services = await conductor.call("services_by_hypervisor_type", { hypervisorType }, options);
    const now = clock.now();
    return services
      .filter((service) => !service.disabled && isUp(service, { now, serviceDownTime }))
      .map((service) => service.host);
  }

  waitForVifs(...waiting: Parameters<VirtApi["waitForVifs"]>) {
    return this.#options.ports.plug(...waiting);
  }

  async instanceStates(uuid: string, options: CallOptions = {}) {
    const instance = await this.#options.conductor.call("instance_get", { uuid }, options);
    return instance ? { vmState: instance.vmState, taskState: instance.taskState } : null;
  }
}
