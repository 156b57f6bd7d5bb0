import { FINAL_MIGRATION_STATUSES, type Flavor, type Instance, type Migration } from "../../../src/records/index.js";
import { expectedUsage } from "../../fixtures/invariants/usage-model.js";
import type { Violation } from "../violation.js";
import { isLostBuild, isMetal, METAL } from "./bare-metal.js";
import type { Amounts, Snapshot } from "./snapshot.js";

/**
 * Checks that each consumer has exactly the allocations that spec 6 states for a server at rest, and that there are no
 * others. `doubled`: while a nova-compute of Pike is known, a resized server owns source and destination allocations
 * (spec 6.0). `nodesLeft`: nodes that left Ironic, even temporarily.
 */
export function wrongAllocations(
  { store, held, now }: Snapshot,
  {
    doubled = false,
    nodesLeft = new Set(),
  }: { readonly doubled?: boolean; readonly nodesLeft?: ReadonlySet<string> } = {},
): Violation[] {
  const expected = new Map<string, { readonly of: Instance; readonly what: string }>();
  for (const instance of store.instances.list({ deleted: false })) {
    const { uuid, host, node, flavor, oldFlavor, vmState } = instance;
    const own = allocationsOn(store, isMetal(flavor) ? hostOf(store, node, host) : host, node, flavor);
    const moves =
      vmState === "resized" ? store.migrations.byFilters({ instanceUuid: uuid, statuses: ["finished"] }) : [];
    let holds = own;
    for (const { uuid: migration, sourceCompute, sourceNode } of moves) {
      const source = allocationsOn(store, sourceCompute, sourceNode, oldFlavor ?? flavor);
      if (doubled) {
        holds = sumOf(holds, source);
      } else {
        expected.set(migration, { of: instance, what: show(source) });
      }
    }
    expected.set(uuid, { of: instance, what: show(holds) });
  }
  return [...new Set([...expected.keys(), ...held.keys()])].flatMap((consumer) => {
    const expectation = expected.get(consumer);
    const found = show(held.get(consumer) ?? {});
    if (
      found === (expectation?.what ?? "{}") ||
      (expectation && isUnfinishedBuild(expectation.of, held.get(consumer)))
    ) {
      return [];
    }
    if (expectation && found === "{}" && hasLostItsNode(store, expectation.of, nodesLeft)) {
      return [];
    }
    const migration = store.migrations.getByUuid(consumer);
    if (migration !== null && isLeftByDelete(store, migration, now)) {
      return [];
    }
    const subject = expectation?.of.uuid ?? migration?.instanceUuid ?? consumer;
    const whose = migration === null ? "it" : `its ${migration.migrationType} ${consumer} (${migration.status})`;
    const state =
      expectation === undefined
        ? stateOf(store.instances.get(subject, { readDeleted: true }))
        : stateOf(expectation.of);
    return [
      { subject, what: `${whose} holds ${found}, expected ${expectation?.what ?? "nothing"}; the server is ${state}` },
    ];
  });
}

/**
 * Spec 6.1, "crash before claim": the build is in error or lost (9.3), and keeps the scheduler's claim until its user
 * deletes it.
 */
function isUnfinishedBuild(instance: Instance, held: Readonly<Record<string, Amounts>> = {}): boolean {
  const { vmState, host, launchedAt, flavor } = instance;
  const [amounts, ...more] = Object.values(held);
  const unfinished = (vmState === "error" && host === null && launchedAt === null) || isLostBuild(instance);
  return unfinished && amounts !== undefined && more.length === 0 && show(amounts) === show(amountsOf(flavor));
}

/**
 * Returns true for a build that was interrupted before Ironic knew of it, so that its free node could leave Ironic. The
 * provider was removed with all its allocations (spec 5.8); a returning node may belong to another host.
 */
function hasLostItsNode(
  store: Snapshot["store"],
  { vmState, host, node, launchedAt, flavor }: Instance,
  nodesLeft: ReadonlySet<string>,
): boolean {
  const neverBuilt = isMetal(flavor) && vmState === "error" && launchedAt === null;
  if (!neverBuilt || host === null || node === null) {
    return false;
  }
  return store.computeNodes.getByHostAndNode(host, node) === null || nodesLeft.has(node);
}

/**
 * Returns true for an unfinished move of a deleted server. `reconcile_allocations = repair` ends it and removes its
 * allocations once its record has not changed for this long (spec 9.3).
 */
function isLeftByDelete(
  store: Snapshot["store"],
  { instanceUuid, status, updatedAt, createdAt }: Migration,
  now: number,
): boolean {
  const deleted = store.instances.get(instanceUuid, { readDeleted: true })?.deleted !== 0;
  return deleted && !FINAL_MIGRATION_STATUSES.includes(status) && now - (updatedAt ?? createdAt) < MOVE_TIMEOUT_MS;
}

/** Milliseconds; the limit of the agents' periodic task, with some reserve. */
const MOVE_TIMEOUT_MS = 11 * 60_000;

/** Returns consumers with allocations that the audit reports although they are permitted. */
export function excusedConsumers(
  { store, held, now }: Snapshot,
  nodesLeft: ReadonlySet<string> = new Set(),
): ReadonlySet<string> {
  const builds = store.instances
    .list({ deleted: false })
    .filter((one) => isUnfinishedBuild(one, held.get(one.uuid)) || hasLostItsNode(store, one, nodesLeft));
  const moves = store.migrations.byFilters({ readDeleted: true }).filter((one) => isLeftByDelete(store, one, now));
  return new Set([...builds, ...moves].map(({ uuid }) => uuid));
}

/** Checks that every compute node has a provider with its uuid and name, and that there are no others. */
export function wrongProviders({ store, providers }: Snapshot, hosts: readonly string[]): Violation[] {
  const nodes = new Map(store.computeNodes.list().map(({ uuid, hypervisorHostname }) => [uuid, hypervisorHostname]));
  const missing = hosts
    .filter((host) => ![...nodes].some(([uuid, name]) => name === host && providers.get(uuid) === host))
    .map((host) => ({ subject: host, what: `${host} has no compute node with a provider` }));
  const more = [...providers]
    .filter(([uuid, name]) => nodes.get(uuid) !== name)
    .map(([uuid, name]) => ({ subject: uuid, what: `provider ${name} has no compute node` }));
  return [...missing, ...more];
}

/** Checks that every node's usage equals the sum of its records (spec 4.5). */
export function wrongUsage({ store }: Snapshot): Violation[] {
  const reserved = { reservedHostCpus: 0, reservedHostMemoryMb: 512, reservedHostDiskMb: 0 };
  return store.computeNodes
    .list()
    .filter(({ hypervisorType }) => hypervisorType !== "ironic")
    .flatMap(({ host, hypervisorHostname: node, vcpusUsed, memoryMbUsed, localGbUsed }) => {
      const found = show({ vcpus: vcpusUsed, memoryMb: memoryMbUsed, localGb: localGbUsed });
      const expected = show({ ...expectedUsage(store, { host, node, reserved }) });
      return found === expected
        ? []
        : [{ subject: `usage of ${host}`, what: `${host} uses ${found}, expected ${expected}` }];
    });
}

/** A node of Ironic may have moved to another host than its server: no host takes over a server that was never built on it. */
function hostOf(store: Snapshot["store"], node: string | null, host: string | null): string | null {
  const found = store.computeNodes.list().find(({ hypervisorHostname }) => hypervisorHostname === node);
  return found?.host ?? host;
}

function allocationsOn(
  store: Snapshot["store"],
  host: string | null,
  node: string | null,
  flavor: Flavor,
): Record<string, Amounts> {
  if (host === null || node === null) {
    return {};
  }
  const provider = store.computeNodes.getByHostAndNode(host, node)?.uuid ?? `a provider of ${host}`;
  return { [provider]: amountsOf(flavor) };
}

function sumOf(one: Record<string, Amounts>, other: Record<string, Amounts>): Record<string, Amounts> {
  const sum = { ...one };
  for (const [provider, amounts] of Object.entries(other)) {
    const known = sum[provider] ?? {};
    const classes = Object.keys({ ...known, ...amounts }).sort();
    sum[provider] = Object.fromEntries(classes.map((name) => [name, (known[name] ?? 0) + (amounts[name] ?? 0)]));
  }
  return sum;
}

function amountsOf(flavor: Flavor): Amounts {
  const { vcpus, memoryMb, rootGb, ephemeralGb, swap } = flavor;
  if (isMetal(flavor)) {
    return METAL;
  }
  return { DISK_GB: rootGb + ephemeralGb + Math.ceil(swap / 1024), MEMORY_MB: memoryMb, VCPU: vcpus };
}

function stateOf(instance: Instance | null): string {
  if (instance === null) {
    return "not known";
  }
  return instance.deleted === 0 ? `${instance.vmState} on ${instance.host}` : "deleted";
}

function show(value: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(Object.fromEntries(Object.entries(value).sort(([left], [right]) => left.localeCompare(right))));
}
