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
  /** Every configuration file in use; their folders are searched for `compute_id` (spec 2.3). */
  readonly configFiles: readonly string[];
  /** The driver's own section of nova.conf, compiled; names in camelCase. */
  readonly driverConfig: Readonly<Record<string, unknown>>;
  readonly runtime: Runtime;
  /** Made with `lease: false` for quirk `no-host-lease`. */
  readonly session: HostSession;
  readonly driver: DriverDefinition;
  readonly placement: ReportClient;
  /** What the hosts of the process know together of how to get at images; default: nobody else asks. */
  readonly sharedImages?: SharedAccess;
  /** The host may be given another driver than the one that it had (spec 2.4 g); default: it refuses. */
  readonly changeDriver?: boolean;
  /** Asked before the driver changes a guest; throws to forbid it. Default: the host's lease must be held. */
  readonly permit?: (purpose: string) => void | Promise<void>;
  readonly metrics?: AgentMetrics;
  /** Asked before each call of the driver and each step of an operation, and set from outside; default: there are none. */
  readonly faults?: ChangingFaults;
}

/** Makes the services with which an agent acts. */
export interface ServiceFactories {
  readonly tracker: (context: AgentContext) => ResourceTracker | Promise<ResourceTracker>;
  readonly operations: (context: AgentContext, tracker: ResourceTracker, faults?: StepFaults) => Operations;
}

/** What an agent can see with; the driver is made, and not yet connected. */
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
  // The view comes last: Node 20 makes a hidden class, 500 bytes, for each record that begins with another one and goes on.
  return { tracker, operations, metrics: options.metrics, ...view };
}
