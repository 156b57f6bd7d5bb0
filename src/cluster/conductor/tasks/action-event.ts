import type { Store } from "../../store/store.js";
import { messageOf } from "./faults.js";
import { CONDUCTOR_HOST } from "./task-deps.js";

/** Shows the work as an event of the instance's action (spec 1.6). */
export async function withActionEvent<T>(
  store: Store,
  event: { readonly instanceUuid: string; readonly event: string; readonly requestId: string },
  work: (fail: (error: unknown) => void) => Promise<T>,
): Promise<T> {
  const id = store.actions.startEvent({ ...event, host: CONDUCTOR_HOST });
  let failure: unknown;
  try {
    return await work((error) => {
      failure = error;
    });
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    if (id !== null) {
      finishEvent(store, id, failure);
    }
  }
}

/** @param failure undefined: there was none */
export function finishEvent(store: Store, id: number, failure: unknown): void {
  const { stack = null } = failure instanceof Error ? failure : {};
  store.actions.finishEvent(
    id,
    failure === undefined
      ? { result: "Success" }
      : { result: "Error", details: messageOf(failure), ...(stack === null ? {} : { traceback: stack }) },
  );
}
