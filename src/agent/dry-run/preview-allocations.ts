import type { ComputeNode } from "../../records/index.js";
import { type AgentView, requestId } from "../context.js";
import type { AllocationEdit } from "./report.js";

/** What the consumer holds now, and without a node's tree. Null: nothing would change. */
export async function previewStrip(
  view: AgentView,
  consumer: string,
  node: ComputeNode,
  reason: string,
): Promise<AllocationEdit | null> {
  const request = { requestId: requestId(view) };
  const before = (await view.placement.getAllocationsForConsumer(consumer, request)).allocations;
  const members = (await view.placement.beginPass([node.uuid], request)).members(node.uuid) ?? [];
  const names = new Map([
    [node.uuid, node.hypervisorHostname],
    ...members.map(({ uuid, name }) => [uuid, name] as const),
  ]);
  const after = Object.fromEntries(Object.entries(before).filter(([provider]) => !names.has(provider)));
  const stripped = Object.keys(before).filter((provider) => names.has(provider));
  return stripped.length === 0
    ? null
    : {
        consumer,
        consumerType: "instance",
        reason,
        before,
        after,
        providers: Object.fromEntries(stripped.map((provider) => [provider, names.get(provider) ?? provider])),
      };
}

/** The consumer gives up everything. Null: it holds nothing. */
export async function previewDelete(
  view: AgentView,
  consumer: string,
  consumerType: AllocationEdit["consumerType"],
  reason: string,
): Promise<AllocationEdit | null> {
  const request = { requestId: requestId(view) };
  const before = (await view.placement.getAllocationsForConsumer(consumer, request)).allocations;
  return Object.keys(before).length === 0 ? null : { consumer, consumerType, reason, before, after: {}, providers: {} };
}

/** What a migration holds becomes the instance's (spec 5.6). Empty: it holds nothing. */
export async function previewMove(
  view: AgentView,
  migration: string,
  instance: string,
  reason: string,
): Promise<readonly AllocationEdit[]> {
  const request = { requestId: requestId(view) };
  const held = (await view.placement.getAllocationsForConsumer(migration, request)).allocations;
  if (Object.keys(held).length === 0) {
    return [];
  }
  const before = (await view.placement.getAllocationsForConsumer(instance, request)).allocations;
  return [
    { consumer: migration, consumerType: "migration", reason, before: held, after: {}, providers: {} },
    { consumer: instance, consumerType: "instance", reason, before, after: held, providers: {} },
  ];
}
