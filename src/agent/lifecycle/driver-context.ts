import { effectiveDownTime, isUp } from "../../conductor-client/liveness.js";
import type { Conductor } from "../../conductor-client/port.js";
import type { Clock } from "../../runtime/time.js";
import type { DriverHostDeps, VirtApi } from "../../virt/context.js";
import type { CallOptions, ImageService } from "../../virt/types.js";
import type { AgentView } from "../context.js";
import type { HostPorts } from "../host-ports.js";
import { inventoryOptions } from "../tracker/tracker-state.js";

interface ConductorVirtApiOptions {
  readonly host: string;
  readonly conductor: Conductor;
  readonly clock: Clock;
  /** In milliseconds. */
  readonly serviceDownTime: number;
  readonly ports: Pick<HostPorts, "plug">;
}

/** Implements the driver's virt API through the conductor. @internal */
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

/** Creates the interfaces and options that a driver gets. */
export function driverContext(
  {
    host,
    config,
    runtime,
    logger,
    conductor,
    images,
    localNodeUuid,
    ports,
  }: Omit<AgentView, "driver" | "images" | "volumes"> & { readonly images: ImageService },
  driverConfig: Readonly<Record<string, unknown>>,
): DriverHostDeps {
  const { defaults } = config;
  return {
    host,
    clock: runtime.clock,
    timers: runtime.timers,
    random: runtime.random,
    http: runtime.http,
    files: runtime.files,
    processes: runtime.programs,
    sockets: runtime.streams,
    logger,
    images,
    ports,
    config: driverConfig,
    inventory: inventoryOptions(defaults),
    workarounds: config.workarounds,
    virtApi: new ConductorVirtApi({
      host,
      conductor,
      ports,
      clock: runtime.clock,
      serviceDownTime: effectiveDownTime(defaults.serviceDownTime, defaults.reportInterval) * 1000,
    }),
    stateFolder: `${defaults.statePath}/driver`,
    myIp: defaults.myIp,
    localNodeUuid,
  };
}
