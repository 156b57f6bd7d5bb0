import { type DriverContext, GuestNotFound, type Instance, VirtError } from "../../src/virt/index.js";
import type { IronicApi } from "./client/ironic-api.js";
import { type IronicError, means } from "./client/ironic-error.js";
import type { IronicNode } from "./client/ironic-node.js";
import type { CallOptions } from "./client/requests.js";
import type { IronicConfig } from "./config.js";
import type { NodeCache } from "./node-cache.js";

/** What every operation of one driver works with. */
export interface IronicTools {
  readonly context: DriverContext;
  readonly config: IronicConfig;
  readonly api: IronicApi;
  readonly cache: NodeCache;
  /** The names in `[workarounds] upstream_quirks`. */
  readonly quirks: ReadonlySet<string>;
}

/** Building, tearing down or switching a node did not work. */
export class InstanceDeployFailure extends VirtError {
  override readonly name = "InstanceDeployFailure";
}

export interface PollOptions extends CallOptions {
  /** Polls that may find no end; default: any number, the call's own time-out ends it. */
  readonly polls?: number;
  /** Named in the error when they are used up. */
  readonly waitingFor: string;
}

/**
 * Asks for the instance's node, at once and then each `api_retry_interval`, until `judge` says so. Ironic may be away for
 * `api_max_retries` polls on end.
 * @param isDone true: it is done. May throw. Null: no node has the instance.
 * @throws {InstanceDeployFailure} after too many polls; else what `judge` throws. {@link IronicError}
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

/** Reads, or writes what may be written twice, through an outage of Ironic: `api_max_retries` times more. */
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
        context.logger.warn("Ironic does not answer; it is asked again and again", { err: error });
      }
      await context.timers.sleep(config.apiRetryInterval * 1000, signal);
    }
  }
}

/** Writes of one request whose answers were lost. */
const WRITES = 3;

/**
 * Sends a request that must not be carried out twice. When its answer was lost, or it was refused after a lost one, the
 * node is read before anything is concluded.
 * @param accepted whether the node shows that the request was carried out, or is being so.
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
      tools.context.logger.info("Ironic had accepted a request whose answer was lost", { node, err: failure });
      return;
    }
    if (write === WRITES) {
      throw failure;
    }
  }
}

/** The node of the instance. @throws {GuestNotFound} */
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

/** The node as it is now; the cache learns of it. @throws {IronicError} */
export async function readNodeNow(
  { api, cache }: IronicTools,
  uuid: string,
  options: CallOptions = {},
): Promise<IronicNode> {
  const node = await api.getNode(uuid, options);
  cache.see(node);
  return node;
}

/** The node that the instance has now, or null; the cache learns of it. @throws {IronicError} */
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
