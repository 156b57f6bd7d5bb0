import { type DriverOperationOptions, md5, VirtDriverNotReady } from "../../src/virt/index.js";
import { IronicError, messageOf } from "./client/ironic-error.js";
import type { IronicNode } from "./client/ironic-node.js";
import type { IronicTools } from "./node-requests.js";

/** Points of each host on the ring. */
const PARTITIONS = 32;

/** Maps nodes to hosts as tooz's HashRing does. Compares hosts in lower case. @internal */
export class HashRing {
  readonly #points: readonly (readonly [point: string, host: string])[];

  constructor(hosts: Iterable<string>) {
    const members = new Set([...hosts].map((host) => host.toLowerCase()));
    this.#points = [...members]
      .flatMap((host) =>
        Array.from({ length: PARTITIONS }, (_, at): readonly [string, string] => [md5(host.repeat(at + 2)), host]),
      )
      // The hashes have the same length, so they sort as strings like numbers.
      .sort(([left], [right]) => (left < right ? -1 : 1));
  }

  /** Returns undefined if the ring is empty. */
  ownerOf(node: string): string | undefined {
    const hash = md5(node);
    let low = 0;
    let high = this.#points.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#points[middle]?.[0] ?? "") > hash) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return (this.#points[low] ?? this.#points[0])?.[1];
  }
}

const HYPERVISOR_TYPE = "ironic";

/**
 * Lists the nodes that this host manages, in this order: hash ring, nodes, own instances. If an instance of this host
 * gets a node during the listing, the node is then recognised by its instance and not taken for another host's (bug
 * 1841481).
 * @throws {VirtDriverNotReady} Ironic or the conductor did not respond, or its response is unusable: the nodes count as
 * unchanged.
 */
export async function refreshNodes(tools: IronicTools, options: DriverOperationOptions = {}): Promise<void> {
  const { cache, quirks } = tools;
  const began = cache.begin();
  try {
    const ring = await hashRing(tools, options);
    const early = quirks.has("ironic-instances-before-nodes") ? await ownInstances(tools, options) : null;
    const nodes = await listed(tools, options);
    const own = early ?? (await ownInstances(tools, options));
    const host = tools.context.host.toLowerCase();
    cache.replace(
      began,
      nodes.filter((node) => isMine(node, own, (uuid) => ring.ownerOf(uuid) === host)),
    );
  } catch (error) {
    cache.abandon();
    throw notReady(error, options);
  }
}

/**
 * Decides by the node's instance if there is one: a node with another host's instance belongs to that host, whatever
 * the ring says.
 */
function isMine(node: IronicNode, own: ReadonlySet<string>, inRing: (uuid: string) => boolean): boolean {
  return node.instanceUuid === null ? inRing(node.uuid) : own.has(node.instanceUuid);
}

/**
 * Builds the ring of this host and of the hosts with nodes whose services are enabled and up. With a conductor group
 * only its peers count, with a shard no other host.
 */
async function hashRing({ context, config }: IronicTools, options: DriverOperationOptions): Promise<HashRing> {
  if (config.shard !== null) {
    return new HashRing([context.host]);
  }
  const hosts = await context.virtApi.liveHosts(HYPERVISOR_TYPE, options);
  if (config.conductorGroup === null) {
    return new HashRing([...hosts, context.host]);
  }
  const peers = new Set(config.peerList.map((peer) => peer.toLowerCase()));
  return new HashRing([...hosts.filter((host) => peers.has(host.toLowerCase())), context.host]);
}

async function ownInstances({ context }: IronicTools, options: DriverOperationOptions): Promise<ReadonlySet<string>> {
  return new Set(await context.virtApi.instanceUuidsOfHost(options));
}

async function listed(
  { api, config, quirks }: IronicTools,
  options: DriverOperationOptions,
): Promise<readonly IronicNode[]> {
  const { shard, conductorGroup } = config;
  const query = { ...(shard === null ? {} : { shard }), ...(conductorGroup === null ? {} : { conductorGroup }) };
  try {
    return await api.listNodes(query, options);
  } catch (error) {
    if (error instanceof IronicError && quirks.has("ironic-empty-list-on-error")) {
      return [];
    }
    throw error;
  }
}

/** Maps errors so that an unresponsive conductor does not look like an empty list of nodes. */
function notReady(error: unknown, { signal }: DriverOperationOptions = {}): Error {
  if (signal?.aborted && error === signal.reason) {
    return error as Error;
  }
  return new VirtDriverNotReady(`the nodes of Ironic could not be listed: ${messageOf(error)}`, { cause: error });
}
