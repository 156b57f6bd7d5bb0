import type { Violation } from "../violation.js";
import type { Snapshot } from "./snapshot.js";

/**
 * A delete that was acknowledged is carried out. One that a fault has stopped leaves the server in error, which tells its user
 * to ask again (spec 6.2): these are given to `again`.
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
    if (vmState === "error" && taskState === null && failedItself(store, uuid)) {
      again(uuid);
    }
    return [
      { subject: uuid, what: `its DELETE was acknowledged, and it is ${vmState}, task ${taskState}, on ${host}` },
    ];
  });
}

/** Its last delete, and nothing after that, ended in an error that its user can see. */
function failedItself(store: Snapshot["store"], uuid: string): boolean {
  const last = store.actions.list(uuid).at(0);
  return last !== undefined && /^(delete|softDelete|forceDelete)$/.test(last.action) && last.message === "Error";
}
