import { holdsTask, type Instance } from "../../../records/index.js";
import type { Store } from "../../store/store.js";

/**
 * Carries out a delete whose task_state this request has taken, though it was acknowledged: the user's word counts, and nobody
 * else knows of it any more. An instance that another request has by now is left to that.
 */
export function carryOutDelete(store: Store, instance: Instance | null, requestId: string): void {
  const deletion = instance?.deleteRequestId ?? null;
  if (instance === null || deletion === null || !holdsTask(instance, requestId, [instance.taskState])) {
    return;
  }
  store.instances.save(instance.uuid, { taskState: "deleting", taskRequestId: deletion });
  store.tasks.add({ kind: "delete_local", instanceUuid: instance.uuid, requestId: deletion });
}
