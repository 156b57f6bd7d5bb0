import { effectiveDownTime } from "../../conductor-client/liveness.js";
import type { Conductor } from "../../conductor-client/port.js";
import type { NovaConfig } from "../../config/nova-config.js";
import type { Runtime } from "../../runtime/runtime.js";
import type { DriverHostDeps } from "../../virt/context.js";
import type { ImageService } from "../../virt/images.js";
import type { HostPorts } from "../network/host-ports.js";
import { inventoryOptions } from "../tracker/options.js";
import { ConductorVirtApi } from "./virt-api.js";

/** The doors and options that a driver is given. */
export function driverContext(options: {
  readonly host: string;
  readonly config: NovaConfig;
  readonly driverConfig: Readonly<Record<string, unknown>>;
  readonly runtime: Runtime;
  readonly conductor: Conductor;
  readonly images: ImageService;
  readonly localNodeUuid: () => Promise<string>;
  readonly ports: HostPorts;
}): DriverHostDeps {
  const { host, config, driverConfig, runtime, conductor, images, localNodeUuid, ports } = options;
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
    logger: runtime.logger,
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
