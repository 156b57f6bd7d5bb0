import type { DriverContext, Instance } from "../../src/virt/index.js";
import type { IronicApi } from "./client/ironic-api.js";
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
