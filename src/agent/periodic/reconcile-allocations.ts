import { isDeepStrictEqual } from "node:util";
import { isPlacementError } from "../../placement-client/errors.js";
import type { Allocations, ConsumerAllocations } from "../../placement-client/types.js";
import {
  type ComputeNode,
  type Instance,
  instanceResources,
  type Migration,
  type Resources,
  withoutPortResources,
} from "../../records/index.js";
import { requestId } from "../context.js";
import { requireHostLease } from "../host-lease.js";
import { ignore } from "../ignore-errors.js";
import type { LeakKind } from "../metrics/metrics.js";
import { addResources, revertToSource, surplus } from "../operations/flow/move-allocations.js";
import type { AgentServices } from "../services.js";
import { checkLeak, type LeakInputs, type LeakResult } from "./evaluate-leak.js";

/** The tree of one node, and all consumers with allocations in it. */
interface Tree {
  readonly node: ComputeNode;
  readonly providers: ReadonlySet<string>;
  /** Consumer → its resources in the complete tree. */
  readonly held: ReadonlyMap<string, Resources>;
}

type Leak = Exclude<LeakResult, { action: "keep" }>;

/**
 * Spec 9.3, `[compute] reconcile_allocations`: finds allocations on this host's trees that nothing would ever release.
 * Reports them (`report`) or removes this host's part (`repair`).
 */
export async function reconcileAllocations(services: AgentServices): Promise<void> {
  const request = requestId(services);
  const left: Record<LeakKind, number> = { migration: 0, instance: 0 };
  for (const node of services.tracker.nodes().values()) {
    const tree = await readTree(services, node, request);
    let repaired = false;
    for (const consumer of await suspects(services, tree)) {
      const leak = await settle(services, tree, consumer, request);
      if (leak === "repaired") {
        repaired = true;
      } else if (leak !== null) {
        left[leak.kind] += 1;
      }
    }
    // Removing an allocation does not change a provider's generation (5.4): the cached providers must be read again.
    if (repaired) {
      await readTree(services, node, request);
    }
  }
  services.metrics.leakedAllocations("migration", left.migration);
  services.metrics.leakedAllocations("instance", left.instance);
}

async function readTree({ placement }: AgentServices, node: ComputeNode, request: string): Promise<Tree> {
  const pass = await placement.beginPass([node.uuid], { requestId: request });
  const providers = (pass.members(node.uuid) ?? []).map(({ uuid }) => uuid);
  const total = new Map<string, Resources>();
  for (const provider of providers) {
    const { consumers } = await placement.getAllocationsForProvider(provider, { requestId: request });
    for (const [consumer, resources] of consumers) {
      total.set(consumer, addResources(total.get(consumer) ?? {}, resources));
    }
  }
  return { node, providers: new Set(providers), held: total };
}

/** Returns the consumers that are not clearly this host's own instances. */
async function suspects({ conductor, host }: AgentServices, { held }: Tree): Promise<readonly string[]> {
  if (held.size === 0) {
    return [];
  }
  const uuids = [...held.keys()].sort();
  const instances = await conductor.call("instances_by_filters", { filters: { uuids } });
  const migrations = await conductor.call("migrations_by_filters", { filters: { uuids, readDeleted: true } });
  const candidates = new Set([
    ...instances
      .filter(({ deleted }) => deleted === 0)
      .filter((instance) => instance.host !== host || coversMore(instance, held.get(instance.uuid) ?? {}))
      .map(({ uuid }) => uuid),
    ...migrations.map(({ uuid }) => uuid),
  ]);
  return uuids.filter((uuid) => candidates.has(uuid));
}

/** Repairs a leak, if there is one. Returns null without a leak, `repaired` if it was removed from this tree. */
async function settle(
  services: AgentServices,
  tree: Tree,
  consumer: string,
  request: string,
): Promise<Leak | "repaired" | null> {
  // Reads the allocations before the records: a move that begins in between changes the generation, so that the write
  // fails.
  const held = await services.placement.getAllocationsForConsumer(consumer, { requestId: request });
  const inputs = await readLeakInputs(services, tree, consumer, held, request);
  if (inputs === null) {
    return null;
  }
  const result = checkLeak(inputs);
  if (result.action === "keep") {
    return null;
  }
  const fields = {
    consumer,
    node: tree.node.hypervisorHostname,
    kind: result.kind,
    request_id: request,
  };
  const repairs = services.config.compute.reconcileAllocations === "repair";
  services.logger.warn(
    `leaked allocations on this host: ${result.reason}; they ${repairs ? ACTION_EFFECTS[result.action] : "are left"}`,
    fields,
  );
  if (!repairs) {
    return result;
  }
  requireHostLease(services, `remove this host from the allocations of consumer ${consumer}`);
  if (result.action === "end" && !(await endMove(services, inputs, request))) {
    return result;
  }
  if (result.action === "give-back") {
    return (await giveBack(services, inputs, request)) ? "repaired" : result;
  }
  const left = result.action === "trim" ? trimmed(inputs, held.allocations) : without(tree, held.allocations);
  if (left === null) {
    return result;
  }
  return (await rewrite(services, tree, consumer, { held, left }, request)) ? "repaired" : result;
}

const ACTION_EFFECTS: Readonly<Record<Leak["action"], string>> = {
  free: "are removed",
  end: "are removed, and the migration is set to error",
  trim: "are reduced to the amounts of the flavor",
  "give-back": "are returned to the instance",
};

/** Ends the migration's status before its allocations are removed (V13). Returns false if an agent still works on it. */
async function endMove(
  { conductor, logger }: AgentServices,
  { migration }: LeakInputs,
  request: string,
): Promise<boolean> {
  if (!migration) {
    return false;
  }
  const { id, status } = migration;
  const write = { id, changes: { status: "error" }, expectedStatus: [status] } as const;
  const saving = conductor.call("migration_save", write, { requestId: request });
  const saved = await saving.catch(
    ignore("InvalidMigrationState", (err) =>
      logger.info("the migration of a deleted instance has continued; checking again in the next run", {
        migration: id,
        err,
      }),
    ),
  );
  return saved !== undefined;
}

/** Repeats the step at which the revert of spec 6.3 failed; returns false if it fails again. */
async function giveBack(
  services: AgentServices,
  { instance, migration }: LeakInputs,
  requestId: string,
): Promise<boolean> {
  if (!instance || !migration) {
    return false;
  }
  return revertToSource(services, { instance, migration }, { requestId }).then(
    () => true,
    (err: unknown) => {
      services.logger.warn("could not return allocations to their instance", { instance: instance.uuid, err });
      return false;
    },
  );
}

/**
 * Returns null if the instance's allocations have changed since they were read. A move that begins and fails meanwhile deletes
 * and recreates the consumer, possibly with the same generation, so that the write would not fail.
 */
async function readLeakInputs(
  services: AgentServices,
  tree: Tree,
  consumer: string,
  held: ConsumerAllocations,
  request: string,
): Promise<LeakInputs | null> {
  const { conductor, host, placement } = services;
  const migration = await one<Migration>(
    conductor.call("migrations_by_filters", { filters: { uuids: [consumer], readDeleted: true } }),
  );
  const uuid = migration?.instanceUuid ?? consumer;
  const instance = await one<Instance>(conductor.call("instances_by_filters", { filters: { uuids: [uuid] } }));
  const moves = await conductor.call("migrations_by_filters", { filters: { instanceUuid: uuid } });
  const own = (await placement.getAllocationsForConsumer(uuid, { requestId: request })).allocations;
  if (migration === null && !isDeepStrictEqual(amountsOf(own), amountsOf(held.allocations))) {
    return null;
  }
  const here = (allocations: Allocations) => Object.entries(allocations).filter(([root]) => tree.providers.has(root));
  const needs = (allocations: Allocations) => instance !== null && isNeed(instance, here(allocations));
  const stranded = migration !== null && needs(held.allocations) && !needs(own);
  const total = here(own)
    .map(([, { resources }]) => resources)
    .reduce(addResources, {});
  return {
    host,
    node: tree.node.hypervisorHostname,
    migration,
    instance,
    moves,
    instanceHoldsTree: here(own).length > 0 && !stranded,
    holders: new Set(tree.held.keys()),
    instanceHoldsElsewhere: here(own).length < Object.keys(own).length,
    instanceHoldsMore: instance !== null && coversMore(instance, total),
    abandoned: migration !== null && isAbandoned(services, migration, instance),
    guestIsHere: instance === null ? null : await hasGuest(services, instance),
  };
}

function amountsOf(allocations: Allocations): Readonly<Record<string, Resources>> {
  return Object.fromEntries(Object.entries(allocations).map(([provider, { resources }]) => [provider, resources]));
}

/** In milliseconds: no step of a move waits longer for another host. */
const MOVE_TIMEOUT_MS = 10 * 60_000;

function isAbandoned({ runtime }: AgentServices, migration: Migration, instance: Instance | null): boolean {
  const written = Math.max(migration.updatedAt ?? migration.createdAt, instance?.deletedAt ?? 0);
  return runtime.clock.now() - written >= MOVE_TIMEOUT_MS;
}

async function hasGuest({ driver, logger }: AgentServices, instance: Instance): Promise<boolean | null> {
  return driver.instanceExists(instance).catch((err: unknown) => {
    logger.warn("the driver could not determine whether an instance has a guest here", {
      instance: instance.uuid,
      err,
    });
    return null;
  });
}

/**
 * Returns whether they equal the instance's flavor, on one provider beside those of its ports, as a revert on the same host
 * requires (6.4).
 */
function isNeed(instance: Instance, held: readonly (readonly [string, Allocations[string]])[]): boolean {
  const [only, more] = held
    .map(([, allocation]) => withoutPortResources(allocation?.resources ?? {}))
    .filter((resources) => Object.keys(resources).length > 0);
  return more === undefined && isDeepStrictEqual(only ?? {}, instanceResources(instance));
}

/** Returns whether the resources cover the need and exceed it. */
function coversMore(instance: Instance, held: Resources): boolean {
  return surplus(held, instanceResources(instance)) !== null;
}

const one = async <T>(rows: Promise<readonly T[]>): Promise<T | null> => (await rows)[0] ?? null;

function without({ providers }: Tree, held: Allocations): Allocations {
  return Object.fromEntries(Object.entries(held).filter(([uuid]) => !providers.has(uuid)));
}

/** Returns the allocations without the surplus; null if they are not on exactly one provider, so it cannot be located. */
function trimmed({ instance }: LeakInputs, held: Allocations): Allocations | null {
  const [only, more] = Object.entries(held);
  if (instance === null || only === undefined || more !== undefined) {
    return null;
  }
  const [provider, { resources }] = only;
  return coversMore(instance, resources) ? { [provider]: { resources: instanceResources(instance) } } : null;
}

/** Writes with the generation that was read. Returns false if Placement rejects it, or after a concurrent write. */
async function rewrite(
  services: AgentServices,
  { node }: Tree,
  consumer: string,
  { held, left }: { readonly held: ConsumerAllocations; readonly left: Allocations },
  request: string,
): Promise<boolean> {
  const { placement, logger } = services;
  const write = { read: held, allocations: left, projectId: held.projectId ?? "", userId: held.userId ?? "" };
  try {
    if (await placement.putAllocations(consumer, write, { requestId: request })) {
      return true;
    }
  } catch (error) {
    if (!isPlacementError(error, "AllocationUpdateFailed")) {
      throw error;
    }
  }
  logger.warn("the allocations of a consumer changed during the check; checking again in the next run", {
    consumer,
    node: node.hypervisorHostname,
    request_id: request,
  });
  return false;
}
