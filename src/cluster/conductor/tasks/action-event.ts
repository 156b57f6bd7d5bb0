import type { Store } from "../../store/store.js";
import { CONDUCTOR_HOST } from "./task-deps.js";

/** Shows the work as an event of the instance's action (spec 1.6). */
export async function withActionEvent<T>(
  store: Store,
  event: { readonly instanceUuid: string; readonly event: string; readonly requestId: string },
  work: (fail: (error: Error) => void) => Promise<T>,
): Promise<T> {
  const id = store.actions.startEvent({ ...event, host: CONDUCTOR_HOST });
  let failure: Error | undefined;
  try {
    return await work((error) => {
      failure = error;
    });
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    if (id !== null) {
      finishEvent(store, id, failure);
    }
  }
}

export function finishEvent(store: Store, id: number, failure: Error | undefined): void {
  store.actions.finishEvent(
    id,
    failure === undefined
      ? { result: "Success" }
      : { result: "Error", details: failure.message, ...(failure.stack ? { traceback: failure.stack } : {}) },
  );
}
