import type { PlacementPass } from "../../placement-client/provider-requests.js";
import type { ProviderListing, RequestContext } from "../../placement-client/types.js";
import type { ComputeNode } from "../../records/index.js";
import { VirtDriverNotReady } from "../../virt/errors.js";
import type { AvailableResource } from "../../virt/types.js";
import { requestId } from "../context.js";
import { ignore } from "../ignore-errors.js";
import { removeDeletedInstancesAllocations } from "./allocation-cleanup.js";
import { checkAssignedResources } from "./claims.js";
import { forgetNodesWithoutRow, initComputeNode, removeOrphans } from "./compute-nodes.js";
import { batchReader, countRecords, type ReadRecords, singleReader } from "./node-records.js";
import { readDisabled, updateNode } from "./node-update.js";
import type { TrackerState } from "./tracker-state.js";

/** The effect of an exception in one node's pass. */
type NodeErrorEffect = "warn" | "log" | "propagate";

interface NodeErrorRow {
  readonly names: readonly string[];
  readonly startup: NodeErrorEffect;
  readonly periodic: NodeErrorEffect;
}

/** Spec 4.8, row by row; other names belong to the last row, "anything else". */
const ROWS: readonly NodeErrorRow[] = [
  { names: ["ComputeHostNotFound"], startup: "warn", periodic: "warn" },
  { names: ["ReshapeFailed"], startup: "propagate", periodic: "propagate" },
  { names: ["ReshapeNeeded"], startup: "propagate", periodic: "propagate" },
  { names: ["PlacementPciException"], startup: "propagate", periodic: "log" },
  { names: ["InvalidConfiguration"], startup: "propagate", periodic: "log" },
];

const ANYTHING_ELSE: NodeErrorRow = { names: [], startup: "log", periodic: "log" };

interface NodePassOptions {
  readonly startup: boolean;
  readonly read: ReadRecords;
  /** Whether the driver lists the node. */
  readonly available: boolean;
  /** The host's rows when the pass began; default: not listed. */
  readonly rows?: readonly ComputeNode[];
  readonly pass?: PlacementPass | undefined;
  /** Marks the pass's requests to Placement. */
  readonly request: RequestContext;
}

/** Max nodes per lock section; a claim waits for these at most. */
const NODES_A_SECTION = 32;

/** Nodes that are written concurrently, so that Placement can process several writes. */
const NODES_AT_A_TIME = 8;

/** Spec 4.3 `update_available_resource`: updates all nodes of the host. */
export async function updateAvailableResource(
  tracker: TrackerState,
  { startup }: { readonly startup: boolean },
): Promise<void> {
  const request = { requestId: requestId(tracker) };
  const providers = listProviders(tracker, request);
  const names = await tracker.driver
    .getAvailableNodes({ refresh: true })
    .catch(
      ignore(VirtDriverNotReady, (err) =>
        tracker.logger.warn("the hypervisor is not ready: this pass is skipped", { err }),
      ),
    ); // 1
  if (!names) {
    return;
  }
  const listed = new Set(names);
  const rows = await tracker.conductor.call("compute_nodes_by_host", { host: tracker.host }); // 2
  if (rows.length === 0 && listed.size > 0) {
    // A start has already logged this when it read the nodes.
    tracker.logger[startup ? "debug" : "error"]("the host has no compute node yet", { host: tracker.host });
  }
  await readDisabled(tracker);
  await tracker.lock.run(async () => {
    forgetNodesWithoutRow(tracker, rows); // 3
    await removeOrphans(tracker, rows, listed, request); // 4
  });
  const pass = await beginPass(tracker, rows, listed, providers, request);
  const read = listed.size > 1 ? batchReader(tracker) : singleReader(tracker);
  const failures = await runNodePasses(tracker, [...listed], { startup, read, available: true, rows, pass, request }); // 5
  if (failures === 0) {
    tracker.merge.endPass();
  }
}

/** Updates one node, e.g. after a live migration. */
export async function updateAvailableResourceForNode(tracker: TrackerState, node: string): Promise<void> {
  await readDisabled(tracker);
  const available = await tracker.driver.nodeIsAvailable(node);
  const request = { requestId: requestId(tracker) };
  const read = singleReader(tracker);
  await guardNode(tracker, node, false, () => runNodePass(tracker, node, { startup: false, read, available, request }));
}

/** Lists the providers of many nodes while the hypervisor lists its nodes. Undefined: the pass lists them itself. */
async function listProviders(
  tracker: TrackerState,
  request: RequestContext,
): Promise<readonly ProviderListing[] | undefined> {
  const { options, nodes } = tracker;
  if (!options.leanTracking || nodes.size < 2) {
    return undefined;
  }
  return tracker.placement.listProviders(request).catch(() => undefined);
}

/** `lean_tracking`: one listing instead of reading every provider. Without it the nodes are read one by one. */
async function beginPass(
  tracker: TrackerState,
  rows: readonly ComputeNode[],
  listed: ReadonlySet<string>,
  providers: Promise<readonly ProviderListing[] | undefined>,
  request: RequestContext,
): Promise<PlacementPass | undefined> {
  const { options } = tracker;
  if (!options.leanTracking) {
    return undefined;
  }
  try {
    const roots = await rootsOf(tracker, rows, listed);
    if (roots.length === 0) {
      return undefined;
    }
    return await tracker.placement.beginPass(roots, { ...request, listed: await providers });
  } catch (err) {
    tracker.logger.warn("the providers of the host could not be listed", { err });
    return undefined;
  }
}

/** Returns the uuids of the nodes' providers, including nodes without a row, if the driver reports their uuids. */
async function rootsOf(
  tracker: TrackerState,
  rows: readonly ComputeNode[],
  listed: ReadonlySet<string>,
): Promise<readonly string[]> {
  const { options } = tracker;
  const { driver } = tracker;
  const known = rows.filter((row) => listed.has(row.hypervisorHostname)).map(({ uuid }) => uuid);
  // Without the guard, nodes whose row was deleted externally are not handled (bug 1853009).
  const all = known.length === listed.size || options.unguardedNodeDelete;
  if (all || !driver.supports("getNodenamesByUuid")) {
    return known;
  }
  const named = [...(await driver.getNodenamesByUuid())].filter(([, name]) => listed.has(name));
  return [...new Set([...known, ...named.map(([uuid]) => uuid)])];
}

/** Runs the passes of all nodes (spec 4.3 step 5). @returns the number of passes that failed and were logged */
async function runNodePasses(
  tracker: TrackerState,
  names: readonly string[],
  options: NodePassOptions,
): Promise<number> {
  let failures = 0;
  // The first node is updated alone: it creates the classes and traits that the others share.
  for (let at = 0, size = 1; at < names.length; at += size, size = NODES_A_SECTION) {
    failures += await updateNodesInBatch(tracker, names.slice(at, at + size), options);
  }
  return failures;
}

async function updateNodesInBatch(
  tracker: TrackerState,
  names: readonly string[],
  options: NodePassOptions,
): Promise<number> {
  const { startup } = options;
  let failures = 0;
  const observed: (readonly [string, AvailableResource])[] = [];
  for (const name of names) {
    const failed = await guardNode(tracker, name, startup, async () => {
      observed.push([name, await tracker.driver.getAvailableResource(name)]);
    });
    if (failed) {
      failures += 1;
    }
  }
  const errors: (readonly [string, unknown])[] = [];
  const queue = observed.values();
  const work = async () => {
    for (const [name, resources] of queue) {
      await countAndUpdate(tracker, name, resources, options).catch((error: unknown) => errors.push([name, error]));
    }
  };
  await tracker.lock.run(() => Promise.all(Array.from({ length: NODES_AT_A_TIME }, work)));
  for (const [name, error] of errors) {
    report(tracker, name, startup, error);
  }
  return failures + errors.length;
}

/** Spec 4.8. Returns whether the node's pass failed and was logged. */
async function guardNode(
  tracker: TrackerState,
  node: string,
  startup: boolean,
  pass: () => Promise<void>,
): Promise<boolean> {
  try {
    await pass();
    return false;
  } catch (err) {
    report(tracker, node, startup, err);
    return true;
  }
}

function report(tracker: TrackerState, node: string, startup: boolean, err: unknown): void {
  const effect = nodeErrorEffect(err, startup);
  if (effect === "propagate") {
    throw err;
  }
  tracker.logger[effect === "warn" ? "warn" : "error"]("resources of the node could not be updated", {
    node,
    err,
  });
}

/** Spec 4.4, step by step. The driver is called outside of the lock; everything else is one lock section. */
async function runNodePass(tracker: TrackerState, name: string, options: NodePassOptions): Promise<void> {
  const { driver } = tracker;
  const resources = await driver.getAvailableResource(name); // 1
  await tracker.lock.run(() => countAndUpdate(tracker, name, resources, options));
}

/** Runs the steps after step 1. The caller must hold the lock. */
async function countAndUpdate(
  tracker: TrackerState,
  name: string,
  resources: AvailableResource,
  { startup, read, available, rows = [], pass, request }: NodePassOptions,
): Promise<void> {
  const uuid = resources.uuid ?? (await tracker.localNodeUuid());
  const where = { host: tracker.host, node: name };
  const { node, isNew } = await initComputeNode(tracker, name, uuid, resources, rows); // 2
  if (!available) {
    return; // 3
  }
  const records = await read(name); // 4
  await countRecords(tracker, node, where, records); // 5-8, 10
  if (!isNew) {
    const migrations = new Set(records.migrations.map((migration) => migration.uuid));
    await removeDeletedInstancesAllocations(tracker, node, where, migrations, { ...request, pass }); // 9
  }
  await updateNode(tracker, node, { startup, pass, ...request }); // 11
  if (startup) {
    checkAssignedResources(tracker, node); // 12
  }
}

/** Selects by the error's name: errors of drivers, Placement and conductor have no common base class. @internal */
export function nodeErrorEffect(error: unknown, startup: boolean): NodeErrorEffect {
  const name = error instanceof Error ? error.name : "";
  const row = ROWS.find(({ names }) => names.includes(name)) ?? ANYTHING_ELSE;
  return startup ? row.startup : row.periodic;
}
