import type { HostSession } from "../../conductor-client/port.js";
import type { NovaConfig } from "../../config/nova-config.js";
import { driverFaults } from "../../faults/fault-injection.js";
import type { ChangingFaults } from "../../faults/faults.js";
import { imageAccess, volumeAccess } from "../../placement-client/access/configured-access.js";
import type { SharedAccess } from "../../placement-client/access/placement-access.js";
import type { ReportClient } from "../../placement-client/report-client.js";
import type { Runtime } from "../../runtime/runtime.js";
import { createDriverHost } from "../../virt/create-driver-host.js";
import type { DriverDefinition } from "../../virt/driver.js";
import type { DriverCallOptions } from "../../virt/driver-call.js";
import type { DriverHostOptions } from "../../virt/driver-host.js";
import { DRIVER_METHODS, type DriverMethod } from "../../virt/driver-methods.js";
import { VolumeClient } from "../../volume-client/volume-client.js";
import type { AgentContext, AgentView } from "../context.js";
import { GlanceClient } from "../glance-client.js";
import { requireHostLease } from "../host-lease.js";
import { HostPorts } from "../host-ports.js";
import { DriverRecord, IdentityFile } from "../identity-file.js";
import { type AgentMetrics, NO_METRICS } from "../metrics/metrics.js";
import type { StepFaults } from "../operations/flow/contract.js";
import { createOperations, type Operations } from "../operations/operations.js";
import type { AgentServices } from "../services.js";
import { createResourceTracker, type ResourceTracker } from "../tracker/resource-tracker.js";
import { HostVolumes } from "../volumes/host-volumes.js";
import { driverContext } from "./driver-context.js";

export interface ViewOptions {
  /** `--host` */
  readonly host: string;
  readonly config: NovaConfig;
  /** All configuration files in use; their folders are searched for `compute_id` (spec 2.3). */
  readonly configFiles: readonly string[];
  /** The driver's own section of nova.conf, compiled; names in camelCase. */
  readonly driverConfig: Readonly<Record<string, unknown>>;
  readonly runtime: Runtime;
  /** Created with `lease: false` for quirk `no-host-lease`. */
  readonly session: HostSession;
  readonly driver: DriverDefinition;
  readonly placement: ReportClient;
  /** Access to the Image service, shared by the hosts of the process; default: not shared. */
  readonly sharedImages?: SharedAccess;
  /** Compute's access to Block Storage, shared by the hosts of the process; default: not shared. */
  readonly sharedVolumes?: SharedAccess;
  /** Allows a driver other than the recorded one (spec 2.4 g); default: the start fails. */
  readonly changeDriver?: boolean;
  /** Called before the driver changes a guest; throws to forbid it. Default: requires the host's lease. */
  readonly permit?: (purpose: string) => void | Promise<void>;
  readonly metrics?: AgentMetrics;
  /** Fault rules for each driver call and each step of an operation, set by external requests; default: none. */
  readonly faults?: ChangingFaults;
}

/** Creates the tracker and the operations of an agent. */
export interface ServiceFactories {
  readonly tracker: (context: AgentContext) => ResourceTracker | Promise<ResourceTracker>;
  readonly operations: (context: AgentContext, tracker: ResourceTracker, faults?: StepFaults) => Operations;
}

/** Creates the view of an agent; its driver is created, but not yet connected. */
export async function createView(options: ViewOptions): Promise<AgentView> {
  const { host, config, runtime, session, placement } = options;
  const logger = runtime.logger.child({ host });
  const { statePath, computeDriver, vifPluggingTimeout: timeout, vifPluggingIsFatal: fatal } = config.defaults;
  const { files, random, timers, transfers } = runtime;
  const identity = new IdentityFile({ files, random, configFiles: options.configFiles, statePath });
  const images = new GlanceClient({
    transfers,
    timers,
    access: imageAccess(config, runtime, session, options.sharedImages),
    retries: config.glance.numRetries,
  });
  const parts = {
    host,
    config,
    runtime: { ...runtime, logger },
    logger,
    conductor: session,
    placement,
    images,
    ports: new HostPorts({ host, conductor: session, timers, logger, timeout, fatal, faults: options.faults }),
    metrics: options.metrics ?? NO_METRICS,
    localNodeUuid: () => identity.localNodeUuid(),
    identity,
    driverRecord: new DriverRecord({
      files,
      logger,
      host,
      statePath,
      driver: { name: options.driver.name, computeDriver },
    }),
    changesDriver: options.changeDriver ?? false,
  };
  const context = driverContext(parts, options.driverConfig);
  const driver = await createDriverHost(options.driver, context, new DriverRules(options));
  const volumes = new HostVolumes({ conductor: session, driver, logger, service: volumeService(options) });
  return { driver, volumes, ...parts };
}

function volumeService({ config, runtime, session, sharedVolumes }: ViewOptions): VolumeClient {
  const { http, clock, timers } = runtime;
  const { blockDeviceAllocateRetries, blockDeviceAllocateRetriesInterval } = config.defaults;
  return new VolumeClient({
    http,
    clock,
    timers,
    access: volumeAccess(runtime, session, null, sharedVolumes),
    accessOf: (instanceUuid) => volumeAccess(runtime, session, instanceUuid),
    allocateRetries: blockDeviceAllocateRetries,
    allocateInterval: blockDeviceAllocateRetriesInterval,
  });
}

/** Spec 2.1 row 1. */
export async function createServices(
  options: ViewOptions & { readonly factories?: Partial<ServiceFactories> },
): Promise<AgentServices> {
  const view = await createView(options);
  const { tracker: makeTracker = createResourceTracker, operations: makeOperations = createOperations } =
    options.factories ?? {};
  const tracker = await makeTracker(view);
  const operations = makeOperations(view, tracker, options.faults);
  return { ...view, tracker, operations };
}

/** The checks, timeouts and metrics that apply to each driver call. */
class DriverRules implements DriverHostOptions {
  readonly timeouts: NonNullable<DriverCallOptions["timeouts"]>;
  readonly createTimeout: number;
  readonly point?: NonNullable<DriverCallOptions["point"]>;
  readonly #host: string;
  readonly #session: HostSession;
  readonly #permit: ViewOptions["permit"];
  readonly #metrics: AgentMetrics | undefined;

  constructor({ host, config, session, permit, metrics, faults }: ViewOptions) {
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
