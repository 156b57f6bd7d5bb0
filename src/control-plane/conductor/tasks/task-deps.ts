import type { NovaConfig } from "../../../config/nova-config.js";
import type { ReportClient } from "../../../placement-client/report-client.js";
import type { RetryInfo, Selection } from "../../../records/index.js";
import { publicMessageOf } from "../../../runtime/error-messages.js";
import type { Logger } from "../../../runtime/runtime.js";
import type { Clock } from "../../../runtime/time.js";
import { faultDetails } from "../../scheduler/errors.js";
import type { Scheduler } from "../../scheduler/scheduler.js";
import type { Store } from "../../store/store.js";
import type { AgentBus } from "../agent-messages.js";
import type { TaskContext } from "../task-runner.js";

/** The options of `[DEFAULT]` that the conductor's tasks go by; a new one needs its name here, and no more. */
const TASK_OPTIONS = ["allowResizeToSameHost", "migrateMaxRetries"] as const;

export type TaskOptions = Pick<NovaConfig["defaults"], (typeof TASK_OPTIONS)[number]>;

/** Picks them from all options of `[DEFAULT]`. */
export function taskOptions(defaults: TaskOptions): TaskOptions {
  return Object.fromEntries(TASK_OPTIONS.map((name) => [name, defaults[name]])) as TaskOptions;
}

/** The dependencies of the flows of the conductor's tasks. */
export interface TaskDeps {
  readonly store: Store;
  readonly bus: AgentBus;
  readonly placement: ReportClient;
  readonly scheduler: Scheduler;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly config: TaskOptions & {
    /** `[scheduler] max_attempts`; Nova's default is 3. */
    readonly maxAttempts: number;
    /** `service_down_time` in milliseconds. */
    readonly serviceDownTime: number;
    /** `[workarounds] upstream_quirks` */
    readonly upstreamQuirks: ReadonlySet<string>;
  };
}

/** Where the conductor's own events and faults say they happened. */
export const CONDUCTOR_HOST = "conductor";

/** By what the destination knows that it has to look at the policy of a server group, when it has claimed. */
export function serverGroupOf({ store }: Pick<TaskDeps, "store">, instanceUuid: string): { serverGroup?: string } {
  const group = store.serverGroups.ofInstance(instanceUuid);
  return group === null ? {} : { serverGroup: group.uuid };
}

/**
 * What a build's or a move's first destination may hand on to the next one. Undefined, with `[scheduler] max_attempts = 1`:
 * an agent without retry information does not ask for another host.
 */
export function firstRetry({ config }: TaskDeps, { host, node }: Selection): RetryInfo | undefined {
  return config.maxAttempts === 1 ? undefined : { numAttempts: 1, hosts: [[host, node]] };
}

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
