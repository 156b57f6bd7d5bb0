import { type Instance, type InstanceChanges, POWER_STATES } from "../../records/index.js";
import type { AgentView } from "../context.js";
import { planInit } from "../startup/init-instance.js";
import type { InitStep } from "../startup/init-rows.js";
import {
  type MoveRecovery,
  planFailResize,
  planLiveMigrationRecovery,
  planRevertResize,
  planUndoResizePrep,
} from "../startup/plan-move-recovery.js";
import { previewDelete, previewMove } from "./preview-allocations.js";
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
  "fail-build": "remove what the build left",
  unpause: "unpause",
  stop: "stop",
  start: "start",
  offload: "offload again",
  "resume-on-host-boot": "bring the guest back",
};

/** What spec 2.6 would do about one instance. */
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
      case "undo-resize-prep":
        await previewRecovery(view, instance, row, await planUndoResizePrep(view, instance), preview);
        break;
      case "change-state":
        plan(`${action.change} again`);
        break;
      case "revert-resize":
        await previewRecovery(view, instance, row, await planRevertResize(view, instance), preview);
        break;
      case "fail-resize":
        await previewRecovery(view, instance, row, await planFailResize(view, instance), preview);
        break;
      case "recover-live-migration": {
        const here = power !== POWER_STATES.nostate;
        await previewRecovery(view, instance, row, await planLiveMigrationRecovery(view, instance, here), preview);
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
  const edit = await previewDelete(view, instance.uuid, "instance", reason);
  if (edit) {
    preview.allocations.push(edit);
  }
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
    const edit = await previewDelete(view, migration.uuid, "migration", reason);
    preview.allocations.push(...(edit ? [edit] : []));
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
