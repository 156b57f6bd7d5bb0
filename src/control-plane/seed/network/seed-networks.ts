import type { Sql } from "../../database/sql.js";
import type { StartNetworks } from "../../network/start-networks.js";
import type { Change, SeedStep } from "../change.js";
import type { ProjectNames } from "../seed-users.js";
import { exportFloatingIps, putFloatingIps, removeFloatingIps } from "./floating-ip-changes.js";
import { exportGroups, putGroups, removeGroups } from "./group-changes.js";
import { exportNetworks, putNetworks, removeNetworks } from "./network-changes.js";
import { NetworkRecords, type NetworkRuntime, withNetworkCopy } from "./network-records.js";
import type { NetworkSeed } from "./network-seed-schema.js";
import { connectRouters, disconnectRouters, exportRouters, removeRouters } from "./router-changes.js";
import { SeedEdit } from "./seed-edit.js";

export interface NetworkSeedParts {
  readonly sql: Sql;
  readonly runtime: NetworkRuntime;
  readonly projects: ProjectNames;
  /** The networks that the cloud starts with, if it has not started yet. */
  readonly start: StartNetworks;
}

/**
 * Returns the changes after which the file's networks exist. All of them are tried on a copy, so that a change that the
 * Network service rejects is found before anything changes.
 * @throws {ClusterError} `SeedRefused`
 */
export function networkSteps(parts: NetworkSeedParts, seed: NetworkSeed): readonly SeedStep[] {
  const { sql, runtime, projects, start } = parts;
  const changes = withNetworkCopy(sql, runtime, start, (records) => applyNetworks(records, projects, seed));
  // The changes depend on each other, so the first step makes them all.
  const apply = () => void applyNetworks(new NetworkRecords(sql, runtime, start), projects, seed);
  return changes.map((change, index) => ({ ...change, apply: index === 0 ? apply : () => {} }));
}

/** Makes the records match the file; returns the changes. What uses a record is removed before it, and added after it. */
function applyNetworks(records: NetworkRecords, projects: ProjectNames, seed: NetworkSeed): readonly Change[] {
  const { networks, routers, securityGroups, floatingIps } = seed;
  const edit = new SeedEdit(records, projects, routers !== undefined);
  const run = <T>(desired: readonly T[] | undefined, ...steps: ((edit: SeedEdit, desired: readonly T[]) => void)[]) => {
    for (const step of desired === undefined ? [] : steps) {
      step(edit, desired ?? []);
    }
  };
  run(floatingIps, removeFloatingIps);
  run(routers, removeRouters, disconnectRouters);
  run(networks, removeNetworks, putNetworks);
  run(routers, connectRouters);
  run(securityGroups, removeGroups, putGroups);
  run(floatingIps, putFloatingIps);
  return edit.changes;
}

/** Returns the records of the file in its form; kinds without any are absent. */
export function exportNetworkSeed({ sql, runtime, projects, start }: NetworkSeedParts) {
  const hasAny = sql.get("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'network_from_file'");
  if (hasAny === undefined || sql.get("SELECT 1 FROM network_from_file LIMIT 1") === undefined) {
    return {};
  }
  return withNetworkCopy(sql, runtime, start, (records) => {
    const edit = new SeedEdit(records, projects);
    const sections = {
      networks: exportNetworks(edit),
      routers: exportRouters(edit),
      security_groups: exportGroups(edit),
      floating_ips: exportFloatingIps(edit),
    };
    return Object.fromEntries(Object.entries(sections).filter(([, list]) => list.length > 0)) as Partial<
      typeof sections
    >;
  });
}
