import type { Aggregate, AggregateChanges } from "../../store/aggregate-store.js";
import type { Store } from "../../store/store.js";

/**
 * Whether hosts of the aggregate may come into the availability zone that `metadata` names, if it names one.
 * @returns why not, worded as Nova words it
 */
export const zoneRefusal = (
  store: Pick<Store, "aggregates" | "instances">,
  aggregate: Aggregate,
  metadata: AggregateChanges["metadata"] & object,
  options: { readonly hosts: readonly string[]; readonly noInstances: boolean },
): string | undefined => {
  if (!Object.hasOwn(metadata, ZONE)) return undefined;
  const zone = metadata[ZONE];
  if (!zone) return `Aggregate ${aggregate.name} does not support empty named availability zone`;
  const others = options.hosts
    .flatMap((host) => store.aggregates.byHost(host))
    .filter(({ id, metadata: theirs }) => id !== aggregate.id && (theirs[ZONE] ?? zone) !== zone);
  if (others.length > 0) {
    const zones = others.map(({ metadata: theirs }) => `'${theirs[ZONE]}'`);
    return `One or more hosts already in availability zone(s) [${zones.join(", ")}]`;
  }
  const moves = options.noInstances && aggregate.metadata[ZONE] !== zone;
  if (moves && options.hosts.some((host) => store.instances.countByHost(host) > 0)) {
    return "One or more hosts contain instances in this zone";
  }
  return undefined;
};

const ZONE = "availability_zone";
