import type { Runtime } from "../../runtime/runtime.js";
import { hasFlatNetwork, migrateFlatNetwork } from "./migrate-flat-network.js";
import { createNetworkService, type NetworkService, type NetworkServiceOptions } from "./network-service.js";
import { createNetworkTables } from "./network-tables.js";
import { createStartNetworks, type StartNetworks } from "./start-networks.js";

export interface OpenNetworkOptions extends Omit<NetworkServiceOptions, "clock" | "timers" | "random" | "logger"> {
  readonly runtime: Pick<Runtime, "clock" | "timers" | "random" | "logger">;
  /** The networks that the cloud starts with. */
  readonly start: StartNetworks;
}

/** Opens the Network service of a cloud: with its tables, its first networks, and the records of an older version. */
export function openNetworkService({ runtime, start, ...options }: OpenNetworkOptions): NetworkService {
  const { sql } = options;
  const { clock, timers, random, logger } = runtime;
  createNetworkTables(sql);
  const service = createNetworkService({
    ...options,
    clock,
    timers,
    random,
    logger: logger.child({ service: "network" }),
  });
  sql.transaction(() => {
    createStartNetworks(service.context, hasFlatNetwork(sql) ? { ...start, start: "flat" } : start);
    migrateFlatNetwork(service.context);
  });
  return service;
}
