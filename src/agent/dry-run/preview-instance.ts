import type { Allocations } from "../../placement-client/types.js";
import { type ComputeNode, type Instance, type InstanceChanges, POWER_STATES } from "../../records/index.js";
import { type AgentView, requestId } from "../context.js";
import { planInit } from "../startup/init-instance.js";
import type { InitStep } from "../startup/init-rows.js";
import { MOVE_RECOVERIES, type MoveRecovery } from "../startup/plan-move-recovery.js";
import type { AllocationEdit, GuestPlan, InstancePlan, MigrationPlan } from "./report.js";

export interface Preview {
  readonly guests: GuestPlan[];
  readonly allocations: AllocationEdit[];
  readonly instances: InstancePlan[];
  readonly migrations: MigrationPlan[];
}

const ACTIONS: Readonly<Partial<Record<InitStep["action"]["kind"], string>>> = {
  "complete-partial-deletion": "complete the delete",
  terminate: "delete again",
  "fail-build": "remove the leftovers of the build",
  unpause: "unpause",
  stop: "stop",
  start: "start",
  offload: "offload again",
  "resume-on-host-boot": "restore the guest",
};

/** Adds the actions of spec 2.6 on one instance to `preview`. */
export async function previewInit(view: AgentView, instance: Instance, preview: Preview): Promise<void> {
  const { steps, power } = await planInit(view, instance);
  for (const { row, action } of steps) {
    const plan = (text: string | null, changes: InstanceChanges = {}): void => {
      preview.instances.push({
        instance: instance.uuid,
        name: instance.displayName,
        reason: row,
        action: text,
        changes,
      });
    };
    switch (action.kind) {
      case "leave":
      case "plug-vifs":
        break;
      case "save":
        plan(null, action.changes);
        break;
      case "fail-build":
        plan(view.driver.capabilities.supportsFencing ? (ACTIONS[action.kind] ?? null) : null, action.changes);
        break;
      case "reboot":
        plan(`reboot ${action.type}`);
        break;
      case "change-state":
        plan(`${action.change} again`);
        break;
      case "undo-resize-prep":
      case "revert-resize":
      case "fail-resize":
      case "recover-live-migration": {
        const recovery = await MOVE_RECOVERIES[action.kind](view, instance, power !== POWER_STATES.nostate);
        await previewRecovery(view, instance, row, recovery, preview);
        break;
      }
      case "complete-partial-deletion":
      case "terminate":
        plan(ACTIONS[action.kind] ?? null);
        await previewTermination(view, instance, row, power !== POWER_STATES.nostate, preview);
        break;
      default:
        plan(ACTIONS[action.kind] ?? null);
    }
  }
}

async function previewTermination(
  view: AgentView,
  instance: Instance,
  reason: string,
  hasGuest: boolean,
  preview: Preview,
): Promise<void> {
  if (hasGuest) {
    preview.guests.push({
      instance: instance.uuid,
      name: instance.displayName,
      action: "destroy",
      reason,
      disks: "destroy",
      disksReason: "the instance is being deleted",
    });
  }
  preview.allocations.push(...(await previewDelete(view, instance.uuid, "instance", reason)));
}

async function previewRecovery(
  view: AgentView,
  instance: Instance,
  reason: string,
  recovery: MoveRecovery,
  preview: Preview,
): Promise<void> {
  const { migration, unclear, changes, allocations } = recovery;
  const action = unclear ? `left as it is: ${unclear}` : recovery.driver === "none" ? null : recovery.driver;
  preview.instances.push({ instance: instance.uuid, name: instance.displayName, reason, action, changes });
  if (migration === null) {
    return;
  }
  if (allocations === "give-back") {
    preview.allocations.push(...(await previewMove(view, migration.uuid, instance.uuid, reason)));
  } else if (allocations === "drop-migration") {
    preview.allocations.push(...(await previewDelete(view, migration.uuid, "migration", reason)));
  }
  if (recovery.failsMigration) {
    preview.migrations.push({
      migration: migration.id,
      instance: instance.uuid,
      from: migration.status,
      to: "error",
      reason,
    });
  }
}

/** Returns the edit that removes a node's tree from the consumer's allocations; empty: nothing would change. */
export async function previewStrip(
  view: AgentView,
  consumer: string,
  node: ComputeNode,
  reason: string,
): Promise<readonly AllocationEdit[]> {
  const before = await allocationsOf(view, consumer);
  const pass = await view.placement.beginPass([node.uuid], { requestId: requestId(view) });
  const names = new Map([
    [node.uuid, node.hypervisorHostname],
    ...(pass.members(node.uuid) ?? []).map(({ uuid, name }) => [uuid, name] as const),
  ]);
  const after = Object.fromEntries(Object.entries(before).filter(([provider]) => !names.has(provider)));
  const stripped = Object.keys(before).filter((provider) => names.has(provider));
  const providers = Object.fromEntries(stripped.map((provider) => [provider, names.get(provider) ?? provider]));
  return stripped.length === 0 ? [] : [{ consumer, consumerType: "instance", reason, before, after, providers }];
}

async function allocationsOf(view: AgentView, consumer: string): Promise<Allocations> {
  return (await view.placement.getAllocationsForConsumer(consumer, { requestId: requestId(view) })).allocations;
}

/** Returns the removal of all allocations of the consumer; empty: it has none. */
async function previewDelete(
  view: AgentView,
  consumer: string,
  consumerType: AllocationEdit["consumerType"],
  reason: string,
): Promise<readonly AllocationEdit[]> {
  const before = await allocationsOf(view, consumer);
  return Object.keys(before).length === 0 ? [] : [{ consumer, consumerType, reason, before, after: {}, providers: {} }];
}

/** Returns the edits that move a migration's allocations to its instance (spec 5.6); empty: the migration has none. */
async function previewMove(
  view: AgentView,
  migration: string,
  instance: string,
  reason: string,
): Promise<readonly AllocationEdit[]> {
  const [emptied] = await previewDelete(view, migration, "migration", reason);
  if (!emptied) {
    return [];
  }
  const before = await allocationsOf(view, instance);
  const after = emptied.before;
  return [emptied, { consumer: instance, consumerType: "instance", reason, before, after, providers: {} }];
}
