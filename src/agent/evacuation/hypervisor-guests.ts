import type { InstanceFilters } from "../../conductor-client/methods/records.js";
import { type Instance, UNFINISHED_MIGRATION_STATUSES } from "../../records/index.js";
import { VirtDriverNotReady } from "../../virt/errors.js";
import type { AgentView } from "../context.js";
import { ignore } from "../ignore-errors.js";
import type { AgentServices } from "../services.js";

/**
 * Counts guests that are not this host's (spec 2.4 G13, 4.5 OPT): instances of other hosts that no move explains, and
 * guests of unknown instances. Leaves them alone. Counts nothing while the hypervisor is not ready.
 * @param loaded instances of this host. Those without a task state are not requested again; an operation may have moved
 * the others.
 * @returns the instances of the other guests, deleted ones included
 */
export async function countForeignGuests(
  services: AgentServices,
  evacuated: ReadonlySet<string>,
  loaded: readonly Instance[] = [],
): Promise<readonly Instance[]> {
  const uuids = await services.driver.listInstanceUuids().catch(ignore(VirtDriverNotReady));
  if (!uuids) {
    return [];
  }
  const own = new Set(
    loaded.filter(({ host, taskState }) => host === services.host && taskState === null).map(({ uuid }) => uuid),
  );
  const otherUuids = uuids.filter((uuid) => !own.has(uuid));
  const instances =
    otherUuids.length === 0
      ? []
      : await services.conductor.call("instances_by_filters", { filters: { uuids: otherUuids } });
  const suspects = instances.filter(
    ({ uuid, host, deleted }) => deleted === 0 && host !== services.host && !evacuated.has(uuid),
  );
  const moving = suspects.length === 0 ? new Set<string>() : await movingInstances(services);
  const foreign = suspects.filter(({ uuid }) => !moving.has(uuid));
  for (const { uuid, host } of foreign) {
    services.logger.warn("a guest on this hypervisor belongs to another host; it is left alone", {
      instance: uuid,
      instance_host: host,
    });
  }
  services.metrics.guests(uuids.length);
  services.metrics.foreignGuests(foreign.length);
  services.metrics.orphanGuests(otherUuids.length - instances.length);
  return instances;
}

async function movingInstances(services: AgentServices): Promise<ReadonlySet<string>> {
  const filters = { host: services.host, statuses: UNFINISHED_MIGRATION_STATUSES };
  const migrations = await services.conductor.call("migrations_by_filters", { filters });
  return new Set(migrations.map(({ instanceUuid }) => instanceUuid));
}

/**
 * Spec 3.2: returns the instances whose guests are on the hypervisor, of any host, deleted rows included. Guests of
 * unknown instances are left out: nothing may touch them.
 * @throws {VirtDriverNotReady}
 */
export async function instancesOnDriver(
  view: AgentView,
  filters: Omit<InstanceFilters, "uuids"> = {},
): Promise<readonly Instance[]> {
  const uuids = await view.driver.listInstanceUuids();
  return uuids.length === 0
    ? []
    : view.conductor.call("instances_by_filters", { filters: { ...filters, uuids: [...uuids] } });
}
