import { SERVICE_VERSION, type Service } from "../../records/index.js";
import { within } from "../../runtime/time.js";
import type { AgentView } from "../context.js";
import { createReadOnlyView, type ReadOnlyViewOptions } from "../dry-run/read-only-view.js";
import { guardRecordedDriver } from "../startup/driver-binding.js";
import { proveOwnership } from "../startup/init-host.js";
import { driverNodes, validateConfig } from "../startup/ownership-checks.js";
import { lookUpService, usesNodeIdentities } from "../startup/register-service.js";
import { loadProviderConfigs } from "../tracker/provider-config.js";
import { compareProviders } from "../tracker/provider-names.js";
import { type CheckPart, failedPart, part } from "./check-part.js";

export interface HostCheck extends ReadOnlyViewOptions {
  /** The service version that the agent would report; undefined: this build's. */
  readonly serviceVersion: number | undefined;
  /** The hint for a host without a service record yet; empty: none. */
  readonly newHost: string;
  /** The timeout of each part, in milliseconds. */
  readonly limit: number;
  readonly signal: AbortSignal;
}

/** The max number of node names and conflicts in a message. */
const MAX_LISTED = 3;

/** Checks the host's records, hypervisor and providers, and whether they match each other. Changes nothing. */
export async function checkHost(options: HostCheck): Promise<readonly CheckPart[]> {
  const { runtime, limit, signal } = options;
  const view = await createReadOnlyView(options);
  const inTime = <T>(what: string, work: Promise<T>) => within(runtime.timers, limit, what, work, signal);
  try {
    const [service, hypervisor] = await Promise.all([
      inTime("the service's record", checkService(view, options)).catch((error: unknown) => ({
        record: undefined,
        part: failedPart("service", error),
      })),
      inTime(`the hypervisor (driver ${view.driver.name})`, checkHypervisor(view)).catch((error: unknown) =>
        failedPart("hypervisor", error, "check that the hypervisor runs, and the driver's section of nova.conf"),
      ),
    ]);
    const identity =
      service.record === undefined || hypervisor.state === "fails" || hypervisor.state === "waits"
        ? part("identity", "unknown", "needs the service's record and the hypervisor")
        : await inTime("the records of the node", checkIdentity(view, service.record)).catch((error: unknown) =>
            failedPart("identity", error),
          );
    const provider =
      identity.state === "ok"
        ? await inTime("the resource provider", checkProviders(view)).catch((error: unknown) =>
            part("provider", "unknown", `needs Placement: ${error instanceof Error ? error.name : String(error)}`),
          )
        : part("provider", "unknown", "needs the records of the node");
    return [service.part, hypervisor, identity, provider];
  } finally {
    await inTime("the driver", view.driver.cleanupHost()).catch((error: unknown) => {
      view.logger.debug("the driver could not disconnect from the hypervisor", { err: error });
    });
  }
}

async function checkService(
  view: AgentView,
  { serviceVersion: version = SERVICE_VERSION, newHost }: HostCheck,
): Promise<{ readonly record: Service | null; readonly part: CheckPart }> {
  validateConfig(view);
  await loadProviderConfigs(view.config.compute.providerConfigLocation, view.runtime);
  const [record, oldest] = await Promise.all([
    lookUpService(view, version),
    view.conductor.call("service_minimum_version", { binary: "nova-compute" }),
  ]);
  return { record, part: evaluateService(view, record, { version, oldest, newHost }) };
}

function evaluateService(
  { host, runtime }: AgentView,
  service: Service | null,
  { version, oldest, newHost }: { readonly version: number; readonly oldest: number; readonly newHost: string },
): CheckPart {
  if (service?.version !== version && version < oldest) {
    const found = `the oldest nova-compute has version ${oldest}; version ${version} is rejected (ServiceTooOld)`;
    return part("service", "fails", found, "leave out --release, or name a newer one");
  }
  if (service === null) {
    return part("service", "ok", `none yet: a start creates one with version ${version}`, newHost);
  }
  const { id, lastSeenUp, disabled, disabledReason, forcedDown } = service;
  const age = lastSeenUp === null ? null : Math.max(0, Math.round((runtime.clock.now() - lastSeenUp) / 1000));
  const found = [
    `id ${id}`,
    `version ${service.version}${service.version === version ? "" : `, a start sets it to ${version}`}`,
    age === null ? "never seen up" : `last seen up ${age} s ago`,
    ...(disabled ? [`disabled${disabledReason ? ` (${disabledReason})` : ""}`] : []),
    ...(forcedDown ? ["forced down"] : []),
  ].join(", ");
  const set = (flag: string) => `openstack compute service set --${flag} ${host} nova-compute`;
  const fixCommands = [...(disabled ? [set("enable")] : []), ...(forcedDown ? [set("up")] : [])];
  return fixCommands.length === 0
    ? part("service", "ok", found)
    : part("service", "note", found, `no server is scheduled here until you run ${fixCommands.join(" and ")}`);
}

async function checkHypervisor(view: AgentView): Promise<CheckPart> {
  await guardRecordedDriver(view);
  await view.driver.initHost();
  const nodes = await driverNodes(view);
  const { name } = view.driver;
  if (nodes === null) {
    return part(
      "hypervisor",
      "note",
      `driver ${name}: not ready, so that its nodes cannot be compared with the records`,
    );
  }
  return part("hypervisor", "ok", `driver ${name}, ${countNames("node", [...nodes.values()])}`);
}

/** Returns `node a`, or `4 nodes a, b, c, …`. */
function countNames(noun: string, names: readonly string[]): string {
  const summary = names.slice(0, MAX_LISTED).join(", ") + (names.length > MAX_LISTED ? ", …" : "");
  return `${names.length === 1 ? noun : `${names.length} ${noun}s`} ${summary}`;
}

/** Finds the providers by the nodes' uuids, as the tracker does. */
async function checkProviders(view: AgentView): Promise<CheckPart> {
  const nodes = await driverNodes(view);
  if (nodes === null) {
    return part("provider", "note", "the hypervisor is not ready, so that its nodes cannot be compared with Placement");
  }
  const { present, absent, conflicts } = await compareProviders(view, nodes);
  if (conflicts.length > 0) {
    const listedConflicts = conflicts.slice(0, MAX_LISTED);
    return part(
      "provider",
      "degraded",
      listedConflicts.map(({ found }) => found).join("; ") +
        (conflicts.length > MAX_LISTED ? `; ${conflicts.length} in all` : ""),
      listedConflicts.map(({ hint }) => hint).join("; "),
    );
  }
  const found = [
    ...(present.length > 0 ? [`Placement has ${countNames("provider", present)}`] : []),
    ...(absent.length > 0 ? [`no ${countNames("provider", absent)} yet`] : []),
  ];
  return part("provider", "ok", found.join(", ") || "the hypervisor has no node");
}

/** @throws {ConfigRejectedError} and the other start-up rejections */
async function checkIdentity(view: AgentView, service: Service | null): Promise<CheckPart> {
  const before = usesNodeIdentities(view) ? null : await view.identity.read();
  const { nodes } = await proveOwnership(view, service);
  if (usesNodeIdentities(view)) {
    return part("identity", "ok", `each node has its own identity; ${nodes.size} recorded`);
  }
  const own = await view.identity.read();
  if (own === null) {
    return part("identity", "ok", `none yet: a start creates ${view.identity.path}`);
  }
  const node = nodes.get(own.uuid);
  const recorded = node === undefined ? "not recorded yet" : `compute node ${node.hypervisorHostname} of this host`;
  const where = before === null ? `none yet: a start writes ${own.uuid} to ${own.path}` : `${own.uuid} in ${own.path}`;
  return part("identity", "ok", `${where}, ${recorded}`);
}
