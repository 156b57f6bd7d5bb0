import type { AvailableResource } from "../../virt/types.js";
import { nodeErrorEffect } from "./node-errors.js";
import { countAndUpdate, type NodePassOptions } from "./node-pass.js";
import type { TrackerState } from "./tracker-state.js";

/** Nodes of one lock section; a claim waits no longer than for these. */
const NODES_A_SECTION = 32;
/** Nodes that are written at a time, so that Placement has several writes to work on. */
const NODES_AT_A_TIME = 8;

/** The passes of all nodes (spec 4.3 step 5). @returns how many failed and were reported */
export async function runNodePasses(
  tracker: TrackerState,
  names: readonly string[],
  options: NodePassOptions,
): Promise<number> {
  let failures = 0;
  // The first goes alone: it makes the classes and traits that the others share.
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
      observed.push([name, await tracker.context.driver.getAvailableResource(name)]);
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

/** Spec 4.8. True: the node's pass failed and was reported. */
export async function guardNode(
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
  tracker.context.runtime.logger[effect === "warn" ? "warn" : "error"]("resources of the node could not be updated", {
    node,
    err,
  });
}
