import { ClusterError } from "../cluster-error.js";
import { hostsInShort } from "../local/host-summary.js";
import type { Aggregate } from "../store/aggregates.js";
import type { Store } from "../store/store.js";
import { fieldChanges, type SeedStep } from "./change.js";
import type { AggregateText } from "./seed-schema.js";

const ZONE = "availability_zone";

/** The desired aggregates and their hosts. */
export interface DesiredAggregates {
  readonly aggregates: readonly AggregateText[];
  /** Deletes all other aggregates. */
  readonly complete: boolean;
  /** Hosts by aggregate. Hosts that are not in `known` are not changed. */
  readonly members: ReadonlyMap<string, ReadonlySet<string>>;
  readonly known: ReadonlySet<string>;
}

export function exportAggregates({ aggregates }: Pick<Store, "aggregates">): AggregateText[] {
  return aggregates.list().map(({ name, metadata }) => {
    const { [ZONE]: zone, ...others } = metadata;
    return {
      name,
      ...(zone === undefined ? {} : { availability_zone: zone }),
      ...(Object.keys(others).length === 0 ? {} : { metadata: others }),
    };
  });
}

/** Returns the changes that produce the desired host aggregates. Each list of hosts is read and written once. */
export function aggregateSteps(
  { aggregates }: Pick<Store, "aggregates">,
  desired: DesiredAggregates,
): readonly SeedStep[] {
  const before = new Map(aggregates.list().map((aggregate) => [aggregate.name, aggregate]));
  const names = new Set(desired.aggregates.map(({ name }) => name));
  const gone = desired.complete ? [...before.values()].filter(({ name }) => !names.has(name)) : [];
  const removed = gone.map(({ id, name }): SeedStep => {
    return { sign: "-", text: `aggregate ${name}`, destroys: true, apply: () => aggregates.destroy(id) };
  });
  const others = desired.aggregates.flatMap(({ name, availability_zone: zone, metadata = {} }): SeedStep[] => {
    const found = before.get(name);
    const full = { ...metadata, ...(zone === undefined ? {} : { [ZONE]: zone }) };
    const moves = movesOf(found, desired.members.get(name) ?? new Set(), desired.known);
    const joined = moves.joined.length === 0 ? [] : [`hosts ${hostsInShort(moves.joined)} join`];
    const left = moves.left.length === 0 ? [] : [`hosts ${hostsInShort(moves.left)} leave`];
    const what = [...fieldChanges(found?.metadata ?? {}, full), ...joined, ...left];
    if (found !== undefined && what.length === 0) {
      return [];
    }
    const apply = () => {
      const { id } = found ?? aggregates.create({ name, metadata: full });
      const unset = Object.keys(found?.metadata ?? {}).filter((key) => !Object.hasOwn(full, key));
      if (found !== undefined) {
        aggregates.update(id, { metadata: { ...full, ...Object.fromEntries(unset.map((key) => [key, null])) } });
      }
      aggregates.changeHosts(id, moves);
    };
    const sign = found === undefined ? "+" : "~";
    const more = found === undefined ? joined : what;
    return [
      { sign, text: `aggregate ${name}${more.length === 0 ? "" : `: ${more.join(", ")}`}`, destroys: false, apply },
    ];
  });
  return [...removed, ...others];
}

/**
 * Checks that no host with servers changes its zone, and that each host is in at most one zone.
 * @throws {ClusterError} `SeedRefused`
 */
export function assertValidZones(
  { aggregates, instances }: Pick<Store, "aggregates" | "instances">,
  desired: DesiredAggregates,
): void {
  const all = aggregates.list();
  const before = new Map(
    all
      .flatMap(({ hosts, metadata }) => hosts.map((host) => [host, metadata[ZONE]] as const))
      .filter(([, zone]) => zone !== undefined),
  );
  const names = new Set(desired.aggregates.map(({ name }) => name));
  const after = new Map<string, string>();
  const put = (host: string, zone: string) => {
    const other = after.get(host) ?? zone;
    if (other !== zone) {
      throw new ClusterError("SeedRefused", `host ${host} would be in two availability zones, ${other} and ${zone}`);
    }
    after.set(host, zone);
  };
  const now = new Map(all.map((aggregate) => [aggregate.name, aggregate.hosts]));
  for (const { name, availability_zone: zone } of desired.aggregates) {
    const members = desired.members.get(name) ?? new Set();
    const others = (now.get(name) ?? []).filter((host) => !desired.known.has(host));
    for (const host of zone === undefined ? [] : [...members, ...others]) {
      put(host, zone ?? "");
    }
  }
  for (const { name, hosts, metadata } of desired.complete ? [] : all) {
    const zone = metadata[ZONE];
    for (const host of zone === undefined || names.has(name) ? [] : hosts) {
      put(host, zone ?? "");
    }
  }
  for (const [host, count] of instances.countsByHost()) {
    if (count > 0 && before.get(host) !== after.get(host)) {
      throw new ClusterError(
        "SeedRefused",
        `host ${host} has ${count} ${count === 1 ? "server" : "servers"}, and would change from availability zone ${before.get(host) ?? "nova"} to ${after.get(host) ?? "nova"}; move them away first`,
      );
    }
  }
}

function movesOf(found: Aggregate | undefined, members: ReadonlySet<string>, known: ReadonlySet<string>) {
  const now = new Set(found?.hosts);
  return {
    joined: [...members].filter((host) => !now.has(host)),
    left: [...now].filter((host) => known.has(host) && !members.has(host)),
  };
}
