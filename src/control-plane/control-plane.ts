import { ConductorError } from "../conductor-client/errors.js";
import type { PlacementAccess } from "../placement-client/access/placement-access.js";
import { ReportClient } from "../placement-client/report-client.js";
import type { Digests, KeyMaker, Random } from "../runtime/cryptography.js";
import type { RejectRequest, ServiceHandler } from "../runtime/http-server.js";
import { CleanupStack } from "../runtime/lifetime.js";
import type { Runtime } from "../runtime/runtime.js";
import type { BlockStorageOptions } from "./block-storage/block-storage-options.js";
import { openClusterBlockStorage } from "./cluster-block-storage.js";
import { openClusterIronic, writeIronicConfig } from "./cluster-ironic.js";
import { openClusterNetwork } from "./cluster-network.js";
import { type ClusterPlacement, createExternalPlacement, embeddedPlacement } from "./cluster-placement.js";
import type { QuotaConfig } from "./compute/quotas/resources.js";
import { ConductorServer } from "./conductor/conductor-server.js";
import type { HostSupervisor } from "./conductor/host-controls.js";
import type { HolderListener } from "./conductor/host-leases.js";
import { registerOwnServices } from "./conductor/own-services.js";
import { createServiceDelete, type ServiceDeletePolicy } from "./conductor/service-delete.js";
import { TaskRunner } from "./conductor/task-runner.js";
import { type TaskOptions, taskOptions } from "./conductor/tasks/task-deps.js";
import { createTaskTable } from "./conductor/tasks/task-table.js";
import { type Apis, createApis } from "./create-apis.js";
import { ensureDefaultFlavors } from "./default-flavors.js";
import { EventLoopTicks, isLowPriority } from "./event-loop.js";
import type { Extension, Inside } from "./extension.js";
import { type ExternalListener, openExternalListener } from "./external-listener.js";
import { newRequestId } from "./http/request.js";
import { openstackError } from "./http/responses.js";
import { withAccessRules } from "./identity/application-credentials.js";
import { writeCloudsYaml } from "./identity/clouds-yaml.js";
import { createIdentity, type Identity, sharedServiceToken } from "./identity/identity.js";
import {
  type ClusterInfo,
  clientEnvironment,
  ensureJoinToken,
  ensureUsable,
  type StateDir,
} from "./local/state-dir.js";
import { metricsService } from "./metrics.js";
import type { NetworkOptions } from "./network/network-options.js";
import type { StartNetworks } from "./network/start-networks.js";
import { type RequestListener, RequestWatch, requestLog } from "./request-log/request-log.js";
import { RequestRecorder } from "./request-log/request-recorder.js";
import { createScheduler, type SchedulerConfig } from "./scheduler/scheduler.js";
import { openStore } from "./store/open-store.js";
import type { Store } from "./store/store.js";

export interface ControlPlaneOptions extends TaskOptions {
  readonly runtime: Runtime;
  readonly digests: Digests;
  readonly keys: KeyMaker;
  readonly directory: StateDir;
  /** 0 for any free port. */
  readonly port: number;
  /** Seconds. */
  readonly serviceDownTime: number;
  /** `[DEFAULT] report_interval`: seconds between heartbeats of the control plane's own services. Default 10. */
  readonly reportInterval?: number;
  /** The section `[scheduler]`. */
  readonly scheduler: Omit<SchedulerConfig, "serviceDownTime">;
  /** `[DEFAULT] reclaim_instance_interval`, seconds. */
  readonly reclaimInstanceInterval: number;
  readonly serviceDeletePolicy: ServiceDeletePolicy;
  readonly quota: QuotaConfig;
  /** The section `[network]`, and quotas of projects without their own. */
  readonly network: { readonly start: StartNetworks["start"] } & Pick<NetworkOptions, "quotas"> &
    Partial<Pick<NetworkOptions, "dnsDomain">>;
  /** The section `[block_storage]`. */
  readonly blockStorage?: Partial<BlockStorageOptions>;
  /** `[DEFAULT] instance_usage_audit_period`. Default: a month. */
  readonly auditPeriod?: string;
  /** `[cinder] cross_az_attach`. Default: true. */
  readonly crossAzAttach?: boolean;
  readonly upstreamQuirks: ReadonlySet<string>;
  /** Rejects the start while a nova-compute is older (spec 1.2); absent for no minimum. */
  readonly oldestServiceVersion?: number;
  /** A second listener, for other machines. Default: none. */
  readonly externalListener?: ExternalListener;
  /** Minimum number of nodes in the embedded Ironic. Default 0. */
  readonly ironicNodes?: number;
  /** An external Placement. Default: the embedded one. */
  readonly placement?: PlacementAccess;
  /** Called when an agent acquires or loses a host's lease. */
  readonly onHolder?: HolderListener;
  /** Called for every request to the services, including those of conductor and scheduler to Placement. */
  readonly onRequest?: RequestListener;
  readonly logRequests?: boolean;
  /** Starts and stops agent processes, if this process can. */
  readonly supervisor?: HostSupervisor;
  /** Creates services that are only available on the loopback interface. Default: none. */
  readonly extend?: (inside: Inside) => Extension;
}

export type ControlPlane = Awaited<ReturnType<typeof startControlPlane>>;

/** Seconds between heartbeats. */
const REPORT_INTERVAL = 10;

/** Max concurrent tasks of the conductor. */
const CONCURRENT_TASKS = 32;

/**
 * Starts Placement, Compute API, Identity, Image, Network, Block Storage, Ironic, scheduler and conductor over one store, on one port of
 * the loopback interface. If the start fails, everything is closed again.
 * @throws {StateDirUnusable}
 * @throws {DatabaseUnusable} if another control plane uses the state directory
 * @throws {AddressUnusable}
 * @throws {ServiceTooOld}
 */
export async function startControlPlane(options: ControlPlaneOptions) {
  const cleanup = new CleanupStack();
  try {
    return await open(options, cleanup);
  } catch (error) {
    await cleanup.close();
    throw error;
  }
}

/** @param cleanup collects what must be closed, also after a failed step */
async function open(options: ControlPlaneOptions, cleanup: CleanupStack) {
  const core = await openCore(options, cleanup);
  const { placement } = core;
  const work = openConductor(core);
  const apis = openApis(core, work);
  const listeners = await listen(core, { placement, work, apis });
  // No step after this can fail.
  work.tasks.start();
  core.ironic.start();
  core.services.start();
  return {
    /** `http://127.0.0.1:8774` */
    url: listeners.url,
    /** URL for other machines, such as `https://192.0.2.2:8775`; undefined without an external listener. */
    externalUrl: listeners.externalUrl,
    /** The store, for code in the same process. */
    store: core.store,
    /** Servers' ports, for code in the same process. */
    ports: core.network.ports,
    /** Hosts that their processes start, stop and kill on request over their connections. */
    controls: work.conductor.controls,
    /** Returns the hosts that serve, but get no servers scheduled until their agents send a heartbeat. */
    hostsToReport: work.conductor.hostsToReport,
    /** Closes the listeners and the store without waiting for requests in progress; call it after the connections are cut. */
    cut: async () => {
      await listeners.cut();
      core.store.close();
    },
    /** Accepts no more requests, waits for those in progress and closes the store. Remaining tasks run at the next start. */
    stop: () => cleanup.close(),
  };
}

type Core = Awaited<ReturnType<typeof openCore>>;

/** Opens the records and the services that all others need: the store, Identity, bare metal, the observers of requests. */
async function openCore(options: ControlPlaneOptions, cleanup: CleanupStack) {
  const { runtime, digests, directory } = options;
  const { clock, random, files, logger } = runtime;
  await ensureUsable(files, directory);
  const joinToken = await ensureJoinToken(files, random, directory);
  const store = await openStore({ path: directory.database, runtime });
  cleanup.add(() => store.close());
  assertServiceVersion(store, options.oldestServiceVersion);
  const services = registerOwnServices({
    store,
    host: runtime.processes.hostname,
    runtime: { ...runtime, logger: logger.child({ service: "conductor" }) },
    reportInterval: options.reportInterval ?? REPORT_INTERVAL,
  });
  cleanup.add(() => services.stop());
  ensureDefaultFlavors(store);
  const identity = createIdentity({ sql: store.database, clock, random, digests, logger });
  const [admin, demo] = [identity.projectNamed("admin"), identity.projectNamed("demo")];
  const watch = new RequestWatch(clock, identity.find, [
    ...(options.logRequests ? [requestLog(logger)] : []),
    ...(options.onRequest ? [options.onRequest] : []),
  ]);
  const agentToken = sharedServiceToken(identity, clock, "nova");
  const location = { url: "" };
  const placement = openPlacement({ options, store, identity, agentToken, location, watch });
  const { start, ...networkOptions } = options.network;
  const network = openClusterNetwork({
    store,
    runtime,
    validate: identity.validate,
    placement: createReportClient(runtime, placement, "neutron-server"),
    options: networkOptions,
    start: { start, projects: { ...(admin && { admin }), ...(demo && { demo }) } },
  });
  const blockStorage = await openClusterBlockStorage({
    store,
    runtime,
    validate: identity.validate,
    directory,
    ...(options.blockStorage && { options: options.blockStorage }),
  });
  cleanup.add(() => blockStorage.stop());
  const ironic = await openClusterIronic({ runtime, store, identity, directory, nodes: options.ironicNodes ?? 0 });
  cleanup.add(() => ironic.stop());
  return {
    options,
    cleanup,
    store,
    services,
    identity,
    network,
    blockStorage,
    ironic,
    joinToken,
    watch,
    agentToken,
    placement,
    /** Milliseconds without a heartbeat after which a service is down. */
    downTime: options.serviceDownTime * 1000,
    /** The control plane's URL; empty until it listens. */
    location,
  };
}

interface PlacementInputs {
  readonly options: ControlPlaneOptions;
  readonly store: Store;
  readonly identity: Identity;
  readonly agentToken: ReturnType<typeof sharedServiceToken>;
  readonly location: { readonly url: string };
  readonly watch: RequestWatch;
}

function openPlacement({ options, location, watch, ...services }: PlacementInputs): ClusterPlacement {
  const { runtime } = options;
  return options.placement
    ? createExternalPlacement(runtime, options.placement)
    : embeddedPlacement({ ...services, runtime, rootUrl: () => location.url, watched: watch.service });
}

function createReportClient(
  runtime: Pick<Runtime, "clock" | "timers" | "random" | "logger">,
  { http, access }: ClusterPlacement,
  userAgent: string,
): ReportClient {
  const { clock, timers, random, logger } = runtime;
  return new ReportClient({ http, access, config: { userAgent }, clock, timers, random, logger });
}

type Work = ReturnType<typeof openConductor>;

/** Creates the conductor with its tasks and the scheduler. */
function openConductor(core: Core) {
  const {
    options,
    cleanup,
    store,
    identity,
    network,
    blockStorage,
    joinToken,
    watch,
    agentToken,
    downTime,
    placement,
  } = core;
  const { runtime } = options;
  const { clock, random } = runtime;
  const logger = runtime.logger.child({ service: "conductor" });
  const reports = createReportClient(runtime, placement, "nova-conductor");
  const conductor = new ConductorServer({
    store,
    ports: network.ports,
    runtime: { ...runtime, logger },
    joinToken,
    placementAccess: placement.agentAccess,
    imageAccess: (origin) => ({ endpoint: `${origin}/image`, ...agentToken() }),
    volumeAccess: (origin, owner) => ({
      endpoint: `${origin}/volume/v3`,
      ...(owner ? identity.issueUserToken(owner.userId, owner.projectId) : agentToken()),
    }),
    recorder: new RequestRecorder(clock, identity.callerOf, watch.add),
    impersonations: identity.impersonations,
    serviceDownTime: downTime,
    ...(options.onHolder === undefined ? {} : { onHolder: options.onHolder }),
    ...(options.supervisor === undefined ? {} : { supervisor: options.supervisor }),
  });
  const scheduler = createScheduler({
    store,
    placement: reports,
    config: { ...options.scheduler, serviceDownTime: downTime },
    clock,
    random,
    logger: runtime.logger.child({ service: "scheduler" }),
  });
  const tasks = new TaskRunner({
    store,
    table: createTaskTable({
      store,
      bus: conductor.bus,
      placement: reports,
      scheduler,
      ports: network.ports,
      blockStorage: blockStorage.worker,
      volumes: blockStorage.volumes,
      clock,
      logger,
      config: {
        maxAttempts: options.scheduler.maxAttempts,
        serviceDownTime: downTime,
        ...taskOptions(options),
        upstreamQuirks: options.upstreamQuirks,
      },
    }),
    concurrency: CONCURRENT_TASKS,
    ticks: new EventLoopTicks(runtime),
    clock,
    logger,
  });
  cleanup.add(
    store.onChange(({ kind }) => {
      if (kind === "task") {
        tasks.wake();
      }
    }),
  );
  cleanup.add(() => tasks.stop());
  return { conductor, tasks, reports };
}

function openApis(
  { options, identity, network, blockStorage, store }: Core,
  { conductor, tasks, reports }: Work,
): Apis {
  const { runtime } = options;
  const logger = runtime.logger.child({ service: "compute-api" });
  return createApis({
    runtime: { ...runtime, logger },
    digests: options.digests,
    keys: options.keys,
    imageFolder: options.directory.glance,
    identity,
    network,
    blockStorage,
    store,
    bus: conductor.bus,
    placement: reports,
    wake: () => tasks.wake(),
    taskEnded: (id) => tasks.ended(id),
    deleteService: createServiceDelete({ store, placement: reports, policy: options.serviceDeletePolicy, logger }),
    quota: options.quota,
    ...(options.auditPeriod === undefined ? {} : { auditPeriod: options.auditPeriod }),
    ...(options.crossAzAttach === undefined ? {} : { crossAzAttach: options.crossAzAttach }),
    serviceDownTime: options.serviceDownTime,
    reclaimInstanceInterval: options.reclaimInstanceInterval,
  });
}

interface Parts {
  readonly placement: ClusterPlacement;
  readonly work: Work;
  readonly apis: Apis;
}

/** Serves the services on loopback and on the external listener, and writes the files with their address. */
async function listen(core: Core, { placement, work, apis }: Parts) {
  const { options, cleanup, store, identity, ironic, watch, downTime, location } = core;
  const { runtime } = options;
  const { clock, files, modules, random } = runtime;
  const { conductor, tasks } = work;
  const guarded = withAccessRules(
    { ...apis.services, "/baremetal": ironic.handle, ...placement.services },
    identity.accessRules,
  );
  const listenOptions = {
    services: guarded,
    isLowPriority,
    sockets: conductor.sockets,
    reject: watch.rejections(openstackError),
  };
  const extension = options.extend?.({
    store,
    placement: placement.records,
    bus: conductor.bus,
    agents: conductor.agents,
    onGuests: (listener) => conductor.guests.begin(listener),
    whose: identity.validate,
    onRequest: watch.add,
    downTime,
    url: () => location.url,
  });
  const listener = await runtime.servers.listen({
    port: options.port,
    ...listenOptions,
    services: {
      ...watch.all(guarded),
      "/metrics": metricsService({ store, files, clock, modules, downTime, tasks, onRequest: watch.add }),
      ...(extension && extended(extension, listenOptions.reject, random)),
    },
  });
  cleanup.add(() => listener.close());
  cleanup.add(() => extension?.close());
  const external =
    options.externalListener &&
    (await openExternalListener(options.externalListener, listenOptions, runtime, watch.service));
  cleanup.add(async () => external?.close());
  cleanup.add(() => conductor.stop());
  location.url = listener.url;
  await writeLocation({ url: listener.url, ...(external && { externalUrl: external.url }) }, identity, options);
  return {
    url: listener.url,
    externalUrl: external?.url,
    cut: () => Promise.all([listener.close(0), external?.close(0)]),
  };
}

/** Returns the handlers of an extension. If it has no response for the root, the root is not found. */
function extended(
  extension: Extension,
  reject: RejectRequest,
  random: Random,
): Readonly<Record<string, ServiceHandler>> {
  return {
    ...extension.services,
    "/": (request) => {
      const { method, path, query } = request;
      const reason = "nothing is served at this path";
      const target = `/${path}${query === "" ? "" : `?${query}`}`;
      return (
        extension.root(request) ?? reject({ status: 404, reason, requestId: newRequestId(random), method, target })
      );
    },
  };
}

/** Writes the files from which clients, agents and commands read the control plane's address. */
async function writeLocation(
  where: Pick<ClusterInfo, "url" | "externalUrl">,
  identity: Identity,
  { runtime, directory, externalListener }: ControlPlaneOptions,
): Promise<void> {
  const { files, processes } = runtime;
  const { url } = where;
  await writeCloudsYaml(
    files,
    directory.cloudsFile,
    identity,
    `${where.externalUrl ?? url}/identity/v3`,
    externalListener?.cacert,
  );
  await writeIronicConfig(files, directory, `${url}/identity/v3`);
  const info: ClusterInfo = {
    ...where,
    pid: processes.pid,
    machine: processes.machine,
    env: clientEnvironment(directory),
  };
  await files.write(directory.clusterFile, `${JSON.stringify(info)}\n`);
}

/** @throws {ServiceTooOld} */
function assertServiceVersion(store: Store, oldest = 0): void {
  const minimum = store.services.minimumVersion("nova-compute");
  if (minimum === 0 || minimum >= oldest) {
    return;
  }
  throw new ConductorError(
    "ServiceTooOld",
    `a nova-compute of this deployment has service version ${minimum}, this control plane requires ${oldest} or later: ` +
      "upgrade the old agents or delete their services, or, for a deployment that mixes releases on purpose, set " +
      "[workarounds] disable_compute_service_check_for_ffu",
    { minimum, oldest },
  );
}
