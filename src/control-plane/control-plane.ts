import { ServiceTooOld } from "../conductor-client/errors.js";
import type { PlacementAccess } from "../placement-client/access/placement-access.js";
import { ReportClient } from "../placement-client/report-client.js";
import type { Digests, KeyMaker, Random } from "../runtime/cryptography.js";
import type { RejectRequest, ServiceHandler } from "../runtime/http-server.js";
import { CleanupStack } from "../runtime/lifetime.js";
import type { Runtime } from "../runtime/runtime.js";
import { openClusterIronic, writeIronicConfig } from "./cluster-ironic.js";
import { createExternalPlacement, embeddedPlacement } from "./cluster-placement.js";
import type { QuotaConfig } from "./compute/quotas/resources.js";
import { ConductorServer } from "./conductor/conductor-server.js";
import type { HostSupervisor } from "./conductor/host-controls.js";
import type { HolderListener } from "./conductor/host-leases.js";
import { OwnServices } from "./conductor/own-services.js";
import { createServiceDelete, type ServiceDeletePolicy } from "./conductor/service-delete.js";
import { TaskRunner } from "./conductor/task-runner.js";
import { type TaskOptions, taskOptions } from "./conductor/tasks/task-deps.js";
import { createTaskTable } from "./conductor/tasks/task-table.js";
import { createApis } from "./create-apis.js";
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
  /** `[DEFAULT] instance_usage_audit_period`. Default: a month. */
  readonly auditPeriod?: string;
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
  /** Logs each request. */
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
 * Starts Placement, Compute API, Identity, Image, Network, Ironic, scheduler and conductor over one store, on one port of
 * the loopback interface. If the start fails, everything is closed again.
 * @throws {StateDirUnusable}
 * @throws {DatabaseUnusable} if another control plane uses the state directory
 * @throws {AddressInUse}
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
  const { runtime, digests, directory } = options;
  const { clock, random, files, modules } = runtime;
  const logger = runtime.logger;
  await ensureUsable(files, directory);
  const joinToken = await ensureJoinToken(files, random, directory);
  const store = await openStore({ path: directory.database, runtime });
  cleanup.add(() => store.close());
  assertServiceVersion(store, options.oldestServiceVersion);
  const services = new OwnServices({
    store,
    host: runtime.processes.hostname,
    runtime: { ...runtime, logger: logger.child({ service: "conductor" }) },
    reportInterval: options.reportInterval ?? REPORT_INTERVAL,
  });
  cleanup.add(() => services.stop());
  ensureDefaultFlavors(store);
  const identity = createIdentity({ sql: store.database, clock, random, digests, logger });
  const ironic = await openClusterIronic({ runtime, store, identity, directory, nodes: options.ironicNodes ?? 0 });
  cleanup.add(() => ironic.stop());
  const agentToken = sharedServiceToken(identity, clock, "nova");
  let url = "";
  const watch = new RequestWatch(clock, identity.find, [
    ...(options.logRequests ? [requestLog(logger)] : []),
    ...(options.onRequest ? [options.onRequest] : []),
  ]);
  const recorder = new RequestRecorder(clock, identity.callerOf, watch.add);
  const placement = options.placement
    ? createExternalPlacement(runtime, options.placement)
    : embeddedPlacement({ runtime, store, identity, agentToken, rootUrl: () => url, watched: watch.service });
  const reports = new ReportClient({
    http: placement.http,
    access: placement.access,
    config: { userAgent: "nova-conductor" },
    clock,
    timers: runtime.timers,
    random,
    logger,
  });
  const downTime = options.serviceDownTime * 1000;
  let runner: TaskRunner | undefined;
  const wake = () => runner?.wake();
  const conductor = new ConductorServer({
    store,
    runtime: { ...runtime, logger: logger.child({ service: "conductor" }) },
    joinToken,
    placementAccess: placement.agentAccess,
    imageAccess: (origin) => ({ endpoint: `${origin}/image`, ...agentToken() }),
    onTask: wake,
    recorder,
    standIns: identity.standIns,
    serviceDownTime: downTime,
    ...(options.onHolder === undefined ? {} : { onHolder: options.onHolder }),
    ...(options.supervisor === undefined ? {} : { supervisor: options.supervisor }),
  });
  const tasks = new TaskRunner({
    store,
    table: createTaskTable({
      store,
      bus: conductor.bus,
      placement: reports,
      scheduler: createScheduler({
        store,
        placement: reports,
        config: { ...options.scheduler, serviceDownTime: downTime },
        clock,
        random,
        logger: logger.child({ service: "scheduler" }),
      }),
      clock,
      logger: logger.child({ service: "conductor" }),
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
    logger: logger.child({ service: "conductor" }),
  });
  runner = tasks;
  cleanup.add(() => tasks.stop());
  const apis = createApis({
    runtime: { ...runtime, logger: logger.child({ service: "compute-api" }) },
    digests,
    keys: options.keys,
    imageFolder: directory.glance,
    identity,
    store,
    bus: conductor.bus,
    placement: reports,
    wake,
    taskEnded: (id) => tasks.ended(id),
    deleteService: createServiceDelete({
      store,
      placement: reports,
      policy: options.serviceDeletePolicy,
      logger: logger.child({ service: "compute-api" }),
    }),
    quota: options.quota,
    ...(options.auditPeriod === undefined ? {} : { auditPeriod: options.auditPeriod }),
    serviceDownTime: options.serviceDownTime,
    reclaimInstanceInterval: options.reclaimInstanceInterval,
  });

  const mounted = { ...apis.services, "/baremetal": ironic.handle, ...placement.services };
  const guarded = withAccessRules(mounted, identity.accessRules);
  const listenOptions = {
    services: guarded,
    isLowPriority: isLowPriority,
    sockets: conductor.sockets,
    reject: watch.rejections(openstackError),
  };
  const metrics = metricsService({
    store,
    files,
    clock,
    modules,
    downTime,
    tasks,
    onRequest: watch.add,
  });
  const extension = options.extend?.({
    store,
    placement: placement.records,
    bus: conductor.bus,
    agents: conductor.agents,
    onGuests: (listener) => conductor.guests.begin(listener),
    whose: identity.validate,
    onRequest: watch.add,
    downTime,
    url: () => url,
  });
  const listener = await runtime.servers.listen({
    port: options.port,
    ...listenOptions,
    services: {
      ...watch.all(guarded),
      "/metrics": metrics,
      ...(extension && extended(extension, listenOptions.reject, random)),
    },
  });
  cleanup.add(() => listener.close());
  cleanup.add(() => extension?.close());
  const externalServer =
    options.externalListener &&
    (await openExternalListener(options.externalListener, listenOptions, runtime, watch.service));
  cleanup.add(async () => externalServer?.close());
  cleanup.add(() => conductor.stop());
  url = listener.url;
  await writeLocation({ url, ...(externalServer && { externalUrl: externalServer.url }) }, identity, options);
  // No step after this can fail.
  tasks.start();
  ironic.start();
  services.start();
  return {
    /** `http://127.0.0.1:8774` */
    url,
    /** URL for other machines, such as `https://192.0.2.2:8775`; undefined without an external listener. */
    externalUrl: externalServer?.url,
    /** The store, for code in the same process. */
    store,
    /** Hosts that their processes start, stop and kill on request over their connections. */
    controls: conductor.controls,
    /** Returns the hosts that serve, but get no servers scheduled until their agents send a heartbeat. */
    hostsToReport: conductor.hostsToReport,
    /** Closes the listeners and the store without waiting for requests in progress; call it after the connections are cut. */
    cut: async () => {
      await Promise.all([listener.close(0), externalServer?.close(0)]);
      store.close();
    },
    /** Accepts no more requests, waits for those in progress and closes the store. Remaining tasks run at the next start. */
    stop: () => cleanup.close(),
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
  throw new ServiceTooOld(
    `a nova-compute of this deployment has service version ${minimum}, this control plane requires ${oldest} or later: ` +
      "upgrade the old agents or delete their services, or, for a deployment that mixes releases on purpose, set " +
      "[workarounds] disable_compute_service_check_for_ffu",
    { minimum, oldest },
  );
}
