import { MessagingTimeout, ServiceBinaryExists } from "../../conductor-client/errors.js";
import { OLDEST_SUPPORTED_SERVICE_VERSION, SERVICE_VERSION, type Service } from "../../records/index.js";
import { retry } from "../../runtime/retry.js";
import type { AgentContext } from "../context.js";
import { VersionRejectedError } from "./rejections.js";

const BINARY = "nova-compute";
const TOPIC = "compute";

/**
 * Spec 2.1 row 2: the host's service; null for a new host. Writes nothing.
 * @param version that this agent says it is @param waiting of a start: repeats the request until a conductor responds, as Nova's
 * `wait_until_ready` does. Default: one request
 * @throws {VersionRejectedError}
 */
export async function lookUpService(
  context: AgentContext,
  version = SERVICE_VERSION,
  waiting?: { readonly signal: AbortSignal },
): Promise<Service | null> {
  // Agents from before the rule don't have it.
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
    retryOn: (error) => error instanceof MessagingTimeout,
  });
  if (oldest > 0 && oldest < OLDEST_SUPPORTED_SERVICE_VERSION) {
    throw new VersionRejectedError({
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
    const sibling =
      error instanceof ServiceBinaryExists
        ? await context.conductor.call("service_get_by_host", { host, binary: BINARY })
        : null;
    if (sibling === null) {
      throw error;
    }
    return sibling;
  }
}
