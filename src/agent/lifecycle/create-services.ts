import type { HostSession } from "../../conductor-client/port.js";
import type { NovaConfig } from "../../config/nova-config.js";
import type { ChangingFaults } from "../../faults/faults.js";
import { imageAccess } from "../../placement-client/access/configured-access.js";
import type { SharedAccess } from "../../placement-client/access/placement-access.js";
import type { ReportClient } from "../../placement-client/report-client.js";
import type { Runtime } from "../../runtime/runtime.js";
import { createDriverHost } from "../../virt/create-driver-host.js";
import type { DriverDefinition } from "../../virt/driver.js";
import type { AgentContext, AgentView } from "../context.js";
import { GlanceClient } from "../glance-client.js";
import { HostPorts } from "../host-ports.js";
import { DriverRecord, IdentityFile } from "../identity-file.js";
import { type AgentMetrics, meteredTracker } from "../metrics/metrics.js";
import type { AgentServices, Operations, StepFaults } from "../operations/flow/contract.js";
import { createOperations } from "../operations/operations.js";
import type { ResourceTracker } from "../tracker/contract.js";
import { createResourceTracker } from "../tracker/resource-tracker.js";
import { DriverRules, driverContext } from "./driver-context.js";

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
  const deps = { ...runtime, logger };
  const identity = new IdentityFile({
    files: runtime.files,
    random: runtime.random,
    configFiles: options.configFiles,
    statePath: config.defaults.statePath,
  });
  const driverRecord = new DriverRecord({
    files: runtime.files,
    logger,
    host,
    statePath: config.defaults.statePath,
    driver: { name: options.driver.name, computeDriver: config.defaults.computeDriver },
  });
  const localNodeUuid = () => identity.localNodeUuid();
  const images = new GlanceClient({
    transfers: runtime.transfers,
    timers: runtime.timers,
    access: imageAccess(config, runtime, session, options.sharedImages),
    retries: config.glance.numRetries,
  });
  const { vifPluggingTimeout: timeout, vifPluggingIsFatal: fatal } = config.defaults;
  const { timers } = runtime;
  const ports = new HostPorts({ host, conductor: session, timers, logger, timeout, fatal, faults: options.faults });
  const driver = await createDriverHost(
    options.driver,
    driverContext({
      host,
      config,
      driverConfig: options.driverConfig,
      runtime: deps,
      conductor: session,
      images,
      localNodeUuid,
      ports,
    }),
    new DriverRules(options),
  );
  return {
    host,
    config,
    runtime: deps,
    conductor: session,
    driver,
    placement,
    images,
    ports,
    localNodeUuid,
    identity,
    driverRecord,
    changesDriver: options.changeDriver ?? false,
    logger,
  };
}

/** Spec 2.1 row 1. */
export async function createServices(
  options: ViewOptions & { readonly metrics: AgentMetrics; readonly factories?: Partial<ServiceFactories> },
): Promise<AgentServices> {
  const view = await createView(options);
  const { tracker: makeTracker = createResourceTracker, operations: makeOperations = createOperations } =
    options.factories ?? {};
  const tracker = meteredTracker(await makeTracker(view), options.metrics);
  const operations = makeOperations(view, tracker, options.faults);
  return { ...view, tracker, operations, metrics: options.metrics };
}
