import type { InstanceAction } from "../../../src/records/index.js";
import type { Violation } from "../violation.js";
import { endedBadly } from "./last-words.js";
import type { Snapshot } from "./snapshot.js";

/**
 * A delete that was acknowledged is carried out. One that a fault has stopped leaves the server in error, which tells its user
 * to ask again, or to make it anew, a soft delete as it was, with its action in error (spec 6.2): these are given to `again`.
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

/** The last action that has anything to do: who locks a server changes nothing of what becomes of it. */
export function lastAction({ actions }: Snapshot["store"], uuid: string): InstanceAction | undefined {
  return actions.list(uuid).find(({ action }) => !/^(lock|unlock)$/.test(action));
}

/** Its last delete, and nothing after that, ended in an error that its user can see, or its agent died in it. */
function failedItself(store: Snapshot["store"], uuid: string): boolean {
  const last = lastAction(store, uuid);
  return last !== undefined && DELETES.test(last.action) && endedBadly(store, last);
}

const DELETES = /^(delete|softDelete|forceDelete)$/;

/** The server keeps its vm_state then, as any whose operation has failed, so that whatever follows is another action. */
function failedSoftly(store: Snapshot["store"], uuid: string): boolean {
  const last = store.actions.list(uuid).find(({ action }) => DELETES.test(action));
  return last !== undefined && last.action === "softDelete" && last.message === "Error";
}

/** Its delete ended in an error, and a user then made a server of it again: Nova lets those in error be rebuilt. */
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
