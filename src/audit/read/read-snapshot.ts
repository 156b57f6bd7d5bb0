import type { Clock } from "../../runtime/time.js";
import type { Cloud } from "../cloud/open-cloud.js";
import { MIGRATION_UUIDS, readHypervisors, readMigrations, readServers, readServices } from "./read-compute.js";
import { readOwners } from "./read-owners.js";
import { listProviders, readProviders } from "./read-placement.js";
import type { Hypervisor, OnProgress, Snapshot } from "./records.js";

export interface ReadOptions {
  readonly clock: Pick<Clock, "now">;
  readonly onProgress: OnProgress;
  /** Ask for the owner of each consumer. */
  readonly thorough: boolean;
  /**
   * Reads the guests of all hypervisors, by host. Absent: no API tells them, and they are not judged.
   * @param hosts are up, and have one node each
   */
  readonly readGuests?: (hosts: readonly string[]) => Promise<Snapshot["guests"]>;
}

/** The guests of a host with many nodes are bare metal, which its nodes hold. @throws what reading them throws */
export async function readGuests(
  hypervisors: readonly Hypervisor[],
  { readGuests: read }: Pick<ReadOptions, "readGuests">,
): Promise<Snapshot["guests"]> {
  const hosts = hypervisors.filter(({ serviceUp }) => serviceUp).map(({ host }) => host);
  const single = hosts.filter((host) => hosts.indexOf(host) === hosts.lastIndexOf(host));
  return read === undefined ? new Map() : read(single);
}

/** Reads all that is judged: two requests a provider, one a page of everything else. @throws {CloudError} */
export async function readSnapshot({ compute, placement }: Cloud, options: ReadOptions): Promise<Snapshot> {
  const { onProgress } = options;
  const [servers, migrations, hypervisors, services, held] = await Promise.all([
    readServers(compute, onProgress),
    readMigrations(compute, onProgress),
    readHypervisors(compute, onProgress),
    readServices(compute),
    listProviders(placement).then((bare) => readProviders(placement, bare.values(), onProgress)),
  ]);
  const guests = await readGuests(hypervisors, options);
  const read = {
    now: options.clock.now(),
    servers: new Map(servers.map((server) => [server.id, server])),
    migrations,
    knowsMigrationConsumers: compute.version >= MIGRATION_UUIDS,
    hypervisors,
    services,
    guests,
    ...held,
  };
  return { ...read, records: await readOwners(placement, read, options) };
}
