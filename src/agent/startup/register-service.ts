import { isDeepStrictEqual } from "node:util";
import { isConductorError } from "../../conductor-client/errors.js";
import { DEFAULT_BRIDGE_MAPPINGS } from "../../config/sections/ovs-options.js";
import {
  COMPUTE_ID_SERVICE_VERSION,
  OLDEST_SUPPORTED_SERVICE_VERSION,
  SERVICE_VERSION,
  type Service,
} from "../../records/index.js";
import { retry } from "../../runtime/retry.js";
import type { AgentContext, AgentView } from "../context.js";
import { ConfigRejectedError, StartRejectedError } from "../rejections.js";

const BINARY = "nova-compute";

const TOPIC = "compute";

/**
 * Spec 2.1 row 2: returns the host's service; null for a new host. Writes nothing.
 * @param version the service version that this agent reports
 * @param waiting set by a start: repeats the request until a conductor responds, as Nova's `wait_until_ready` does.
 * Default: one request
 * @throws {StartRejectedError}
 */
export async function lookUpService(
  context: AgentContext,
  version = SERVICE_VERSION,
  waiting?: { readonly signal: AbortSignal },
): Promise<Service | null> {
  // Agents older than this check do not have it.
  const checked =
    version >= OLDEST_SUPPORTED_SERVICE_VERSION && !context.config.workarounds.disableComputeServiceCheckForFfu;
  const read = () =>
    Promise.all([
      checked ? context.conductor.call("service_minimum_version", { binary: BINARY }, waiting) : 0,
      context.conductor.call("service_get_by_host", { host: context.host, binary: BINARY }, waiting),
    ]);
  const [oldest, service] = await retry(context.runtime.timers, read, {
    ...waiting,
    attempts: waiting === undefined ? 1 : Number.POSITIVE_INFINITY,
    retryOn: (error) => isConductorError(error, "MessagingTimeout"),
  });
  if (oldest > 0 && oldest < OLDEST_SUPPORTED_SERVICE_VERSION) {
    throw new StartRejectedError("service-too-old", {
      found: `the oldest nova-compute of this deployment has service version ${oldest}, this agent (version ${version}) works with ${OLDEST_SUPPORTED_SERVICE_VERSION} and later`,
      hint: "upgrade the old agents or delete their services, or, for a deployment that mixes releases on purpose, set [workarounds] disable_compute_service_check_for_ffu",
      records: { "oldest service version": String(oldest), agent: String(version) },
    });
  }
  return service;
}

/** Spec 2.1 row 4. @throws {ServiceTooOld} older than every nova-compute of the deployment */
export async function registerService(
  context: AgentContext,
  service: Service | null,
  version = SERVICE_VERSION,
): Promise<Service> {
  if (service === null) {
    return createService(context, version);
  }
  return service.version === version
    ? service
    : context.conductor.call("service_update_version", { id: service.id, version });
}

/** Reports the bridges of the host, as its Open vSwitch agent does, if they differ from those of all hosts. */
export async function reportBridges({ host, config, conductor }: AgentContext): Promise<void> {
  const { bridgeMappings } = config.ovs;
  if (!isDeepStrictEqual(bridgeMappings, DEFAULT_BRIDGE_MAPPINGS)) {
    const pairs = bridgeMappings.map((item) => item.split(":") as [string, string]);
    await conductor.call("report_bridges", { host, bridgeMappings: Object.fromEntries(pairs) });
  }
}

async function createService(context: AgentContext, version: number): Promise<Service> {
  const { host, config } = context;
  try {
    return await context.conductor.call("service_create", {
      host,
      binary: BINARY,
      topic: TOPIC,
      version,
      enableNewServices: config.defaults.enableNewServices,
    });
  } catch (error) {
    const sibling = isConductorError(error, "ServiceBinaryExists")
      ? await context.conductor.call("service_get_by_host", { host, binary: BINARY })
      : null;
    if (sibling === null) {
      throw error;
    }
    return sibling;
  }
}

/**
 * Spec 2.3, the table: a host that was in service before has its identity file, or gets it from its only compute node.
 * @throws {ConfigRejectedError} {@link StartRejectedError}
 */
export async function checkServiceIdentity(view: AgentView, service: Service): Promise<void> {
  if (usesNodeIdentities(view)) {
    return;
  }
  const { host, identity } = view;
  if (await identity.read()) {
    return;
  }
  const nodes = await view.conductor.call("compute_nodes_by_host", { host });
  const [node, second] = nodes;
  if (service.version >= COMPUTE_ID_SERVICE_VERSION) {
    const recorded = nodes.map(({ uuid, hypervisorHostname }) => `${uuid} (${hypervisorHostname})`).join(", ");
    throw new ConfigRejectedError("identity-lost", {
      found: `No local node identity found, but this is not our first startup on this host: its service ${service.id} has version ${service.version}, so that its agent had one, and there is no compute_id in ${identity.path} or beside the configuration files${recorded ? `; the host's compute node is ${recorded}` : ""}`,
      hint: node
        ? `if this is the machine of ${host}, write ${node.uuid} to ${identity.path}; if it is another one, give it a --host of its own`
        : `restore ${identity.path} from a backup; without one, delete the service of host ${host} when it has no instances left, and start again`,
      records: {
        service: `${service.id}, version ${service.version}`,
        compute_id: "absent",
        ...(node ? { compute_node: node.uuid } : {}),
      },
    });
  }
  if (!node) {
    throw new ConfigRejectedError("identity-no-node", {
      found: `Upgrading from service version ${service.version} but found no nodes in the database for host ${host} to persist locally; Possible rename detected`,
      hint: `delete the service of host ${host} and start again: it is then registered as a new host`,
      records: { service: `${service.id}, version ${service.version}`, compute_nodes: "none" },
    });
  }
  if (second) {
    throw new ConfigRejectedError("identity-many-nodes", {
      found: `Multiple nodes found in database, manual node uuid configuration required: host ${host} has no identity file and ${nodes.length} compute nodes: ${nodes.map(({ uuid, hypervisorHostname }) => `${uuid} (${hypervisorHostname})`).join(", ")}`,
      hint: `write the uuid of the one that is this hypervisor to ${identity.path}`,
      records: Object.fromEntries(nodes.map(({ uuid, hypervisorHostname }) => [hypervisorHostname, uuid])),
    });
  }
  await identity.write(node.uuid);
}

/** Returns whether the nodes have their own identities, as ironic's do; the host then needs none (spec 2.3 row 1). */
export function usesNodeIdentities(view: Pick<AgentView, "driver">): boolean {
  return view.driver.capabilities.hasNodeIdentities;
}
