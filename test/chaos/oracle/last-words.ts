import type { Store } from "../../../src/control-plane/store/store.js";
import type { InstanceAction, VmState } from "../../../src/records/index.js";
import type { Violation } from "../violation.js";
import type { Snapshot } from "./snapshot.js";

/** The vm_states after a successful action; without an entry, any. */
const LEAVES: Readonly<Record<string, readonly VmState[]>> = {
  create: ["active"],
  stop: ["stopped"],
  start: ["active"],
  reboot: ["active"],
  pause: ["paused"],
  unpause: ["active"],
  suspend: ["suspended"],
  resume: ["active"],
  rescue: ["rescued"],
  unrescue: ["active"],
  shelve: ["shelved", "shelved_offloaded"],
  shelveOffload: ["shelved_offloaded"],
  unshelve: ["active"],
  rebuild: ["active", "stopped"],
  resize: ["resized"],
  migrate: ["resized"],
  confirmResize: ["active", "stopped"],
  revertResize: ["active", "stopped"],
  "live-migration": ["active", "paused"],
  evacuate: ["active", "stopped"],
  restore: ["active"],
};

/** Actions that do not change the server's state. */
const BESIDES = /^(lock|unlock|createImage|createBackup|live_migration_cancel|live_migration_force_complete)$/;

/** The last event of actions with several events; other actions end with any event. */
const LAST_EVENT: Readonly<Record<string, string>> = {
  create: "compute__do_build_and_run_instance",
  unshelve: "compute_unshelve_instance",
  rebuild: "compute_rebuild_instance",
  resize: "compute_finish_resize",
  migrate: "compute_finish_resize",
  revertResize: "compute_finish_revert_resize",
  "live-migration": "compute_live_migration",
  evacuate: "compute_rebuild_instance",
};

/** Returns true if the action finished without a failed event. */
export function endedWell({ actions }: Store, { id, action, message }: InstanceAction): boolean {
  const events = actions.events(id);
  const last = LAST_EVENT[action];
  const isOver = last === undefined ? events.length > 0 : events.some(({ event }) => event === last);
  return message === null && isOver && events.every(({ result }) => result === "Success");
}

/** Returns true if the action failed, or its agent died before reporting the result. */
export function endedBadly({ actions }: Store, { id, message }: InstanceAction): boolean {
  return message === "Error" || actions.events(id).some(({ result }) => result === null);
}

/**
 * Checks that each server has the state of its last action if that succeeded, or is in error with a fault. A build that
 * was given up counts as successful. `powerLoss`: a guest may have stopped on its own, and its agent may have failed to
 * restart it. `confirms`: agents confirm resizes on their own (`resize_confirm_window`), which is not an action of the
 * server. `reset`: servers whose state an operator has set, which is not an action either.
 */
export function wrongStates(
  { store }: Snapshot,
  {
    powerLoss = false,
    confirms = false,
    reset = new Set(),
  }: { readonly powerLoss?: boolean; readonly confirms?: boolean; readonly reset?: ReadonlySet<string> } = {},
): readonly Violation[] {
  return store.instances.list({ deleted: false }).flatMap(({ uuid, vmState, taskState }) => {
    const last = store.actions.list(uuid).find(({ action }) => !BESIDES.test(action));
    const expected = last && endedWell(store, last) ? LEAVES[last.action] : undefined;
    const isAsLeft = expected === undefined || expected.includes(vmState) || reset.has(uuid);
    if (last === undefined || isAsLeft || taskState !== null) {
      return [];
    }
    const excused = powerLoss && (vmState === "stopped" || vmState === "error");
    if (confirms && isMove(last) && LEAVES.confirmResize?.includes(vmState) && isConfirmed(store, uuid)) {
      return [];
    }
    if (excused || (vmState === "error" && (store.instances.fault(uuid)?.createdAt ?? 0) >= last.startTime)) {
      return [];
    }
    return [{ subject: uuid, what: `its ${last.action} of ${last.requestId} ended well, and it is ${vmState}` }];
  });
}

const isMove = ({ action }: InstanceAction): boolean => action === "resize" || action === "migrate";

/** Returns true if the server's last move is confirmed. */
function isConfirmed({ migrations }: Store, instanceUuid: string): boolean {
  return migrations.byFilters({ instanceUuid }).at(-1)?.status === "confirmed";
}
