import { type DriverOperationOptions, md5, VirtDriverNotReady } from "../../src/virt/index.js";
import { IronicError } from "./client/ironic-error.js";
import type { IronicNode } from "./client/ironic-node.js";
import type { IronicTools } from "./node-requests.js";

/** Points of each host on the ring. */
const PARTITIONS = 32;

/** Which host has which node, as tooz's HashRing says. Hosts are compared in lower case. @internal */
export class HashRing {
  readonly #points: readonly (readonly [point: string, host: string])[];

  constructor(hosts: Iterable<string>) {
    const members = new Set([...hosts].map((host) => host.toLowerCase()));
    this.#points = [...members]
      .flatMap((host) =>
        Array.from({ length: PARTITIONS }, (_, at): readonly [string, string] => [md5(host.repeat(at + 2)), host]),
      )
      // Equal lengths: as texts they sort as numbers.
      .sort(([left], [right]) => (left < right ? -1 : 1));
  }

  /** Undefined: the ring is empty. */
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
 * Lists what this host manages, in this order: hash ring, nodes, own instances. A node that one of our instances got
 * while the nodes were listed is then known by its instance, and not taken for another host's (bug 1841481).
 * @throws {VirtDriverNotReady} Ironic or the conductor did not answer, or not sensibly: nothing is known to have
 * changed.
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

/** An instance decides, whatever the ring says: a node with another host's instance is that host's. */
function isMine(node: IronicNode, own: ReadonlySet<string>, inRing: (uuid: string) => boolean): boolean {
  return node.instanceUuid === null ? inRing(node.uuid) : own.has(node.instanceUuid);
}

/**
 * Hosts of enabled services that are up and have nodes: with a conductor group its peers alone, with a shard none; and
 * this host.
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

/** A conductor that does not answer must not look as if there were no nodes. */
function notReady(error: unknown, { signal }: DriverOperationOptions = {}): Error {
  if (signal?.aborted && error === signal.reason) {
    return error as Error;
  }
  const why = error instanceof Error ? error.message : String(error);
  return new VirtDriverNotReady(`the nodes of Ironic could not be listed: ${why}`, { cause: error });
}
