import type { PlacementPass } from "../../placement-client/pass.js";
import type { ProviderListing, RequestContext } from "../../placement-client/types.js";
import type { ComputeNode } from "../../records/index.js";
import { VirtDriverNotReady } from "../../virt/errors.js";
import { requestId } from "../context.js";
import { runNodePass } from "./node-pass.js";
import { guardNode, runNodePasses } from "./node-passes.js";
import { BatchReader, SingleReader } from "./node-records.js";
import { readDisabled } from "./node-update.js";
import { forgetNodesWithoutRow, removeOrphans } from "./orphan-nodes.js";
import type { TrackerState } from "./tracker-state.js";

/** Spec 4.3 `update_available_resource`: all nodes of the host. */
export async function updateAvailableResource(
  tracker: TrackerState,
  { startup }: { readonly startup: boolean },
): Promise<void> {
  const { context } = tracker;
  const request = { requestId: requestId(context) };
  const providers = listProviders(tracker, request);
  const listed = await listedNodes(tracker); // 1
  if (!listed) {
    return;
  }
  const rows = await context.conductor.call("compute_nodes_by_host", { host: context.host }); // 2
  if (rows.length === 0 && listed.size > 0) {
    // A start has said so when it looked up the nodes.
    context.runtime.logger[startup ? "debug" : "error"]("the host has no compute node yet", { host: context.host });
  }
  await readDisabled(tracker);
  await tracker.lock.run(async () => {
    forgetNodesWithoutRow(tracker, rows); // 3
    await removeOrphans(tracker, rows, listed, request); // 4
  });
  const pass = await beginPass(tracker, rows, listed, providers, request);
  const reader = listed.size > 1 ? new BatchReader(tracker) : new SingleReader(tracker);
  const failures = await runNodePasses(tracker, [...listed], { startup, reader, available: true, rows, pass, request }); // 5
  if (failures === 0) {
    tracker.merge.endPass();
  }
}

/** One node's part of it, as after a live migration. */
export async function updateAvailableResourceForNode(tracker: TrackerState, node: string): Promise<void> {
  await readDisabled(tracker);
  const available = await tracker.context.driver.nodeIsAvailable(node);
  const request = { requestId: requestId(tracker.context) };
  const reader = new SingleReader(tracker);
  await guardNode(tracker, node, false, () =>
    runNodePass(tracker, node, { startup: false, reader, available, request }),
  );
}

async function listedNodes(tracker: TrackerState): Promise<ReadonlySet<string> | null> {
  const { driver, runtime } = tracker.context;
  try {
    return new Set(await driver.getAvailableNodes({ refresh: true }));
  } catch (err) {
    if (!(err instanceof VirtDriverNotReady)) {
      throw err;
    }
    runtime.logger.warn("the hypervisor is not ready: this pass is skipped", { err });
    return null;
  }
}

/** The providers of many nodes, listed by Placement while the hypervisor lists the nodes. Undefined: the pass lists what it needs itself. */
async function listProviders(
  tracker: TrackerState,
  request: RequestContext,
): Promise<readonly ProviderListing[] | undefined> {
  const { options, nodes, context } = tracker;
  if (!options.leanTracking || nodes.size < 2) {
    return undefined;
  }
  return context.placement.listProviders(request).catch(() => undefined);
}

/** `lean_tracking`: one listing instead of reading every provider. Without it the nodes are read one by one. */
async function beginPass(
  tracker: TrackerState,
  rows: readonly ComputeNode[],
  listed: ReadonlySet<string>,
  providers: Promise<readonly ProviderListing[] | undefined>,
  request: RequestContext,
): Promise<PlacementPass | undefined> {
  const { options, context } = tracker;
  if (!options.leanTracking) {
    return undefined;
  }
  try {
    const roots = await rootsOf(tracker, rows, listed);
    if (roots.length === 0) {
      return undefined;
    }
    return await context.placement.beginPass(roots, { ...request, listed: await providers });
  } catch (err) {
    context.runtime.logger.warn("the providers of the host could not be listed", { err });
    return undefined;
  }
}

/** Uuids of the nodes' providers; also of those that have no row yet, where the driver knows them. */
async function rootsOf(
  tracker: TrackerState,
  rows: readonly ComputeNode[],
  listed: ReadonlySet<string>,
): Promise<readonly string[]> {
  const { context, options } = tracker;
  const { driver } = context;
  const known = rows.filter((row) => listed.has(row.hypervisorHostname)).map(({ uuid }) => uuid);
  // Without the guard nobody looks for nodes whose row somebody else deleted (bug 1853009).
  const all = known.length === listed.size || options.unguardedNodeDelete;
  if (all || !driver.supports("getNodenamesByUuid")) {
    return known;
  }
  const named = [...(await driver.getNodenamesByUuid())].filter(([, name]) => listed.has(name));
  return [...new Set([...known, ...named.map(([uuid]) => uuid)])];
}
