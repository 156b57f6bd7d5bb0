import type { Runtime } from "../runtime/runtime.js";
import { createServerEvents } from "./conductor/server-port-events.js";
import { followServers } from "./conductor/server-ports-follower.js";
import type { ValidateToken } from "./credentials.js";
import type { ComputeNetwork } from "./network/compute-network.js";
import { ensureTopology } from "./network/ipam/auto-allocated-topology.js";
import type { NetworkOptions } from "./network/network-options.js";
import { openNetworkService } from "./network/open-network-service.js";
import type { PlacementAllocations } from "./network/placement-allocations.js";
import { createServerPorts } from "./network/ports/server-ports.js";
import { findGroups, groupNames } from "./network/security-groups/default-group.js";
import type { StartNetworks } from "./network/start-networks.js";
import type { Store } from "./store/store.js";

export interface ClusterNetworkOptions {
  readonly store: Store;
  readonly runtime: Pick<Runtime, "clock" | "timers" | "random" | "logger">;
  readonly validate: ValidateToken;
  /** Default: allocations of servers remain as they are when the QoS policies of their ports change. */
  readonly placement?: PlacementAllocations;
  readonly options?: Partial<NetworkOptions>;
  /** The networks that the cloud starts with. */
  readonly start: StartNetworks;
}

/** Opens the embedded Network service over the store, whose servers its ports follow. */
export function openClusterNetwork({
  store,
  runtime,
  validate,
  placement,
  options,
  start,
}: ClusterNetworkOptions): ComputeNetwork {
  const { handle, context } = openNetworkService({
    sql: store.database,
    runtime,
    start,
    validate,
    ...(placement && { placement }),
    events: createServerEvents(store, runtime.random),
    ...(options && { options }),
  });
  const ports = createServerPorts(context);
  store.follow(followServers(store, ports));
  return {
    handle,
    ports,
    autoAllocate: (projectId) => ensureTopology(context.internal, projectId),
    securityGroups: {
      find: (projectId, nameOrId) => store.transaction(() => findGroups(context, projectId, nameOrId)),
      names: (ids) => groupNames(context, ids),
    },
  };
}
