import { publicMessageOf } from "../../../runtime/public-error.js";
import { faultDetails } from "../../scheduler/errors.js";
import type { Store } from "../../store/store.js";
import type { TaskContext } from "../task-runner.js";
import { CONDUCTOR_HOST } from "./task-deps.js";

/**
 * Shows the work of a task as events of the instance's action, one within the other (spec 1.6). They end in the transaction that
 * finishes the task, where there is one.
 */
export class ActionEvents {
  readonly #store: Store;
  readonly #ids: readonly number[];
  #failure: unknown;
  #ended = false;

  /** Begins them, in the transaction that is open if there is one. */
  constructor(
    store: Store,
    {
      events,
      ...action
    }: { readonly instanceUuid: string; readonly events: readonly string[]; readonly requestId: string },
  ) {
    this.#store = store;
    this.#ids = store.transaction(() =>
      events.flatMap((event) => store.actions.startEvent({ ...action, event, host: CONDUCTOR_HOST }) ?? []),
    );
  }

  /** @param work of the task's context with which to finish it; a failure that it does not throw it tells by `fail` */
  async during<T>(context: TaskContext, work: (within: TaskContext) => Promise<T>): Promise<T> {
    const finish = () => {
      this.#end();
      context.finish();
    };
    try {
      return await work({ ...context, finish });
    } catch (error) {
      this.fail(error);
      throw error;
    } finally {
      this.#end();
    }
  }

  fail(error: unknown): void {
    this.#failure = error;
  }

  #end(): void {
    if (this.#ended) {
      return;
    }
    const { transaction, database } = this.#store;
    transaction(() => {
      // The outermost ends last.
      for (const id of this.#ids.toReversed()) {
        finishEvent(this.#store, id, this.#failure);
      }
      database.afterCommit(() => {
        this.#ended = true;
      });
    });
  }
}

/** @param failure undefined: there was none */
export function finishEvent(store: Store, id: number, failure: unknown): void {
  const details = faultDetails(failure);
  store.actions.finishEvent(
    id,
    failure === undefined
      ? { result: "Success" }
      : { result: "Error", details: publicMessageOf(failure), ...(details === null ? {} : { traceback: details }) },
  );
}
