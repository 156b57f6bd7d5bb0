import type { InstanceAction } from "../../../src/records/index.js";
import type { Violation } from "../violation.js";
import { endedBadly } from "./last-words.js";
import type { Snapshot } from "./snapshot.js";

/**
 * Checks that every acknowledged delete is executed. A delete that a fault stopped leaves the server in error, so that
 * its user can delete it again or rebuild it. A soft delete leaves the server unchanged with its action in error (spec
 * 6.2). These servers are passed to `again`.
 */
export function lostDeletes(
  { store }: Snapshot,
  deleted: ReadonlySet<string>,
  again: (uuid: string) => void,
): Violation[] {
  return [...deleted].flatMap((uuid) => {
    const instance = store.instances.get(uuid, { readDeleted: true });
    if (instance === null || instance.deleted !== 0) {
      return [];
    }
    const { vmState, taskState, host } = instance;
    const failed =
      (vmState === "error" && failedItself(store, uuid)) || failedSoftly(store, uuid) || wasTakenBack(store, uuid);
    if (taskState === null && failed) {
      again(uuid);
    }
    return [
      { subject: uuid, what: `its DELETE was acknowledged, and it is ${vmState}, task ${taskState}, on ${host}` },
    ];
  });
}

/** Returns the last relevant action; locks have no effect on the server's state. */
export function lastAction({ actions }: Snapshot["store"], uuid: string): InstanceAction | undefined {
  return actions.list(uuid).find(({ action }) => !/^(lock|unlock)$/.test(action));
}

/** Returns true if the last action is a delete that ended in a visible error, or whose agent died. */
function failedItself(store: Snapshot["store"], uuid: string): boolean {
  const last = lastAction(store, uuid);
  return last !== undefined && DELETES.test(last.action) && endedBadly(store, last);
}

const DELETES = /^(delete|softDelete|forceDelete)$/;

/** Returns true if the last delete was a failed soft delete. The server keeps its vm_state, so other actions can follow. */
function failedSoftly(store: Snapshot["store"], uuid: string): boolean {
  const last = store.actions.list(uuid).find(({ action }) => DELETES.test(action));
  return last !== undefined && last.action === "softDelete" && last.message === "Error";
}

/** Returns true if a delete ended in error and the server was rebuilt afterwards, which Nova permits. */
function wasTakenBack(store: Snapshot["store"], uuid: string): boolean {
  const actions = store.actions.list(uuid);
  const at = actions.findIndex(({ action }) => DELETES.test(action));
  const last = actions[at];
  return (
    last !== undefined &&
    endedBadly(store, last) &&
    actions.slice(0, at).some(({ action, message }) => action === "rebuild" && message === null)
  );
}
