import { effectiveDownTime, isUp } from "../../conductor-client/liveness.js";
import type { Conductor, HostSession } from "../../conductor-client/port.js";
import type { NovaConfig } from "../../config/nova-config.js";
import { driverFaults } from "../../faults/fault-injection.js";
import type { ChangingFaults } from "../../faults/faults.js";
import type { Runtime } from "../../runtime/runtime.js";
import type { Clock } from "../../runtime/time.js";
import type { DriverHostDeps, VirtApi } from "../../virt/context.js";
import type { DriverCallOptions } from "../../virt/driver-call.js";
import type { DriverHostOptions } from "../../virt/driver-host.js";
import { DRIVER_METHODS, type DriverMethod } from "../../virt/driver-methods.js";
import type { CallOptions, ImageService } from "../../virt/types.js";
import { requireHostLease } from "../host-lease.js";
import type { HostPorts } from "../host-ports.js";
import type { AgentMetrics } from "../metrics/metrics.js";
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

interface DriverRulesOptions {
  readonly host: string;
  readonly config: NovaConfig;
  readonly session: HostSession;
  /** Called before the driver changes a guest; throws to forbid it. Default: requires the host's lease. */
  readonly permit?: (purpose: string) => void | Promise<void>;
  readonly metrics?: AgentMetrics;
  readonly faults?: ChangingFaults;
}

/** The checks, timeouts and metrics that apply to each driver call. */
export class DriverRules implements DriverHostOptions {
  readonly timeouts: NonNullable<DriverCallOptions["timeouts"]>;
  readonly createTimeout: number;
  readonly point?: NonNullable<DriverCallOptions["point"]>;
  readonly #host: string;
  readonly #session: HostSession;
  readonly #permit: DriverRulesOptions["permit"];
  readonly #metrics: AgentMetrics | undefined;

  constructor({ host, config, session, permit, metrics, faults }: DriverRulesOptions) {
    const { driverInitTimeout, driverCreateTimeout } = config.computeAgent;
    this.#host = host;
    this.#session = session;
    this.#permit = permit;
    this.#metrics = metrics;
    this.timeouts = { initHost: driverInitTimeout * 1000 };
    this.createTimeout = driverCreateTimeout * 1000;
    if (faults) {
      this.point = driverFaults(faults);
    }
  }

  async permit(method: DriverMethod, instance: string | undefined): Promise<void> {
    const purpose = instance ? `${method} the guest of instance ${instance}` : method;
    if (this.#permit !== undefined) {
      await this.#permit(purpose);
      return;
    }
    await this.#session.leaseSettled();
    requireHostLease({ host: this.#host, conductor: this.#session }, purpose);
  }

  epoch(): number | null {
    return this.#session.leaseEpoch;
  }

  observe(...[method, ...call]: Parameters<NonNullable<DriverCallOptions["observe"]>>): void {
    this.#metrics?.driverCall(method, ...call);
    if (DRIVER_METHODS[method].changesGuests) {
      this.#session.guestsChanged?.();
    }
  }
}
