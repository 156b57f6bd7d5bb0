import { type DriverContext, GuestNotFound, type Instance, VirtError } from "../../src/virt/index.js";
import type { IronicApi } from "./client/ironic-api.js";
import { type IronicError, means } from "./client/ironic-error.js";
import type { IronicNode } from "./client/ironic-node.js";
import type { CallOptions } from "./client/requests.js";
import type { IronicConfig } from "./config.js";
import type { NodeCache } from "./node-cache.js";

/** Dependencies shared by the driver's operations. */
export interface IronicTools {
  readonly context: DriverContext;
  readonly config: IronicConfig;
  readonly api: IronicApi;
  readonly cache: NodeCache;
  /** The names in `[workarounds] upstream_quirks`. */
  readonly quirks: ReadonlySet<string>;
}

/** Building, tearing down or switching a node failed. */
export class InstanceDeployFailure extends VirtError {
  override readonly name = "InstanceDeployFailure";
}

export interface PollOptions extends CallOptions {
  /** Maximum number of polls. Unlimited by default, until the caller's timeout aborts them. */
  readonly polls?: number;
  /** Named in the error when the polls are used up. */
  readonly waitingFor: string;
}

/**
 * Polls the instance's node, at once and then each `api_retry_interval`, until `isDone` returns true. Ironic may be
 * unreachable for `api_max_retries` polls in a row.
 * @param isDone receives null if no node has the instance; may throw
 * @throws {InstanceDeployFailure} there were too many polls. {@link IronicError}; also whatever `isDone` throws
 */
export async function pollInstance(
  tools: IronicTools,
  instance: Pick<Instance, "uuid">,
  { polls = Number.POSITIVE_INFINITY, waitingFor, signal }: PollOptions,
  isDone: (node: IronicNode | null) => boolean | Promise<boolean>,
): Promise<void> {
  for (let poll = 1; ; poll += 1) {
    const node = await withRetries(tools, { signal }, () => findNode(tools, instance, { signal }));
    if (await isDone(node)) {
      return;
    }
    if (poll >= polls) {
      throw new InstanceDeployFailure(`instance ${instance.uuid}: still waiting for ${waitingFor} after ${poll} polls`);
    }
    await tools.context.timers.sleep(tools.config.apiRetryInterval * 1000, signal);
  }
}

/** Runs a read or an idempotent write, and repeats it up to `api_max_retries` times while Ironic is unreachable. */
export async function withRetries<T>(
  { config, context }: IronicTools,
  { signal }: CallOptions,
  action: () => Promise<T>,
): Promise<T> {
  for (let failures = 0; ; failures += 1) {
    try {
      return await action();
    } catch (error) {
      if (!means(error, "unreachable", "no-worker") || failures >= config.apiMaxRetries) {
        throw error;
      }
      if (failures === 0) {
        context.logger.warn("Ironic is not responding; retrying", { err: error });
      }
      await context.timers.sleep(config.apiRetryInterval * 1000, signal);
    }
  }
}

/** Maximum number of attempts of one request whose responses are lost. */
const WRITES = 3;

/**
 * Sends a request that must not be carried out twice. If its response is lost, or a later attempt is rejected, reads
 * the node before it sends the request again.
 * @param accepted returns whether the node shows that the request was or is being carried out
 */
export async function sendOnce(
  tools: IronicTools,
  node: string,
  options: CallOptions,
  send: () => Promise<void>,
  accepted: (node: IronicNode) => boolean,
): Promise<void> {
  for (let write = 1; ; write += 1) {
    let failure: IronicError;
    try {
      return await send();
    } catch (error) {
      const isRejected = write > 1 && means(error, "wrong-state", "locked", "transition", "associated");
      if (!isRejected && !means(error, "unreachable")) {
        throw error;
      }
      failure = error;
    }
    const now = await withRetries(tools, options, () => readNodeNow(tools, node, options));
    if (accepted(now)) {
      tools.context.logger.info("Ironic had accepted a request whose response was lost", { node, err: failure });
      return;
    }
    if (write === WRITES) {
      throw failure;
    }
  }
}

/** Returns the node of the instance. @throws {GuestNotFound} */
export async function nodeOf(
  tools: IronicTools,
  instance: Pick<Instance, "uuid">,
  options: CallOptions = {},
): Promise<IronicNode> {
  const node = await findNode(tools, instance, options);
  if (!node) {
    throw new GuestNotFound(`Instance ${instance.uuid} could not be found: no node of Ironic has it`);
  }
  return node;
}

/** Reads the node and updates the cache. @throws {IronicError} */
export async function readNodeNow(
  { api, cache }: IronicTools,
  uuid: string,
  options: CallOptions = {},
): Promise<IronicNode> {
  const node = await api.getNode(uuid, options);
  cache.see(node);
  return node;
}

/** Reads the instance's node and updates the cache. Returns null if there is none. @throws {IronicError} */
export async function findNode(
  { api, cache }: IronicTools,
  instance: Pick<Instance, "uuid">,
  options: CallOptions = {},
): Promise<IronicNode | null> {
  const node = await api.findByInstance(instance.uuid, options);
  if (node) {
    cache.see(node);
  }
  return node;
}
