import { isUp } from "../../../conductor-client/liveness.js";
import type { NovaConfig } from "../../../config/nova-config.js";
import type { ReportClient } from "../../../placement-client/report-client.js";
import type { RetryInfo, Selection } from "../../../records/index.js";
import { publicMessageOf } from "../../../runtime/error-messages.js";
import type { Logger } from "../../../runtime/runtime.js";
import type { Clock } from "../../../runtime/time.js";
import type { ServerVolumes } from "../../block-storage/server-volumes.js";
import type { BlockStorageWorker } from "../../block-storage/work/run-work.js";
import type { PortResourceRequest, ServerPorts } from "../../network/server-ports.js";
import { faultDetails } from "../../scheduler/errors.js";
import type { Scheduler } from "../../scheduler/scheduler.js";
import type { Store } from "../../store/store.js";
import type { Task } from "../../store/tasks.js";
import type { AgentBus } from "../agent-messages.js";
import type { TaskContext } from "../task-runner.js";

/** Options of `[DEFAULT]` that the conductor's tasks use. A new option only needs its name here. */
const TASK_OPTIONS = ["allowResizeToSameHost", "migrateMaxRetries"] as const;

export type TaskOptions = Pick<NovaConfig["defaults"], (typeof TASK_OPTIONS)[number]>;

/** Selects these options from all options of `[DEFAULT]`. */
export function taskOptions(defaults: TaskOptions): TaskOptions {
  return Object.fromEntries(TASK_OPTIONS.map((name) => [name, defaults[name]])) as TaskOptions;
}

/** Dependencies of the conductor's task flows. */
export interface TaskDeps {
  readonly store: Store;
  readonly bus: AgentBus;
  readonly placement: ReportClient;
  readonly scheduler: Scheduler;
  readonly ports: ServerPorts;
  /** Runs the work of the Block Storage service. */
  readonly blockStorage: Pick<BlockStorageWorker, "run" | "fail">;
  readonly volumes: ServerVolumes;
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

/** Host name in the conductor's own events and faults. */
export const CONDUCTOR_HOST = "conductor";

/** Returns true if the host's agent is up and can be called. */
export function isAlive({ store, clock, config }: TaskDeps, host: string): boolean {
  const service = store.services.getByHost(host, "nova-compute");
  return service !== null && isUp(service, { now: clock.now(), serviceDownTime: config.serviceDownTime });
}

/** Returns the instance's server group. With it, the destination checks the group's policy after its claim. */
export function serverGroupOf({ store }: Pick<TaskDeps, "store">, instanceUuid: string): { serverGroup?: string } {
  const group = store.serverGroups.ofInstance(instanceUuid);
  return group === null ? {} : { serverGroup: group.uuid };
}

/**
 * Returns what a server's ports request of its host.
 * @param portIds existing ports that the server gets when it is placed
 */
export function portRequestsOf(
  { ports }: Pick<TaskDeps, "ports">,
  instanceUuid: string,
  portIds?: readonly string[],
): readonly PortResourceRequest[] {
  return [...ports.resourceRequests(instanceUuid, portIds).values()];
}

/** Stores the providers of a selection that serve the ports. Callers have claimed it, and hand the instance over. */
export function savePortAllocations(
  { ports }: Pick<TaskDeps, "ports">,
  instanceUuid: string,
  { host, mappings = {} }: Pick<Selection, "host" | "mappings">,
): void {
  ports.saveAllocations(instanceUuid, host, mappings);
}

/**
 * Returns the retry data for the first destination of a build or move. Undefined with `[scheduler] max_attempts = 1`,
 * since an agent without retry data requests no other host.
 */
export function firstRetry({ config }: TaskDeps, { host, node }: Selection): RetryInfo | undefined {
  return config.maxAttempts === 1 ? undefined : { numAttempts: 1, hosts: [[host, node]] };
}

/**
 * Records a task's work as nested events of the instance's action (spec 1.6). The events end in the transaction that
 * finishes the task, if there is one.
 */
export class ActionEvents {
  readonly #store: Store;
  readonly #ids: readonly number[];
  #failure: unknown;
  #ended = false;

  /** Starts the events, in the current transaction if there is one. */
  constructor(
    store: Store,
    { instanceUuid, requestId }: Pick<Task, "instanceUuid" | "requestId">,
    ...events: readonly string[]
  ) {
    const action = { instanceUuid, requestId, host: CONDUCTOR_HOST };
    this.#store = store;
    this.#ids = store.transaction(() =>
      events.flatMap((event) => store.actions.startEvent({ ...action, event }) ?? []),
    );
  }

  /** @param work finishes the task through the context it gets, and reports failures that it does not throw by `fail` */
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
      // Inner events end first.
      for (const id of this.#ids.toReversed()) {
        finishEvent(this.#store, id, this.#failure);
      }
      database.afterCommit(() => {
        this.#ended = true;
      });
    });
  }
}

/** @param failure undefined on success */
export function finishEvent(store: Store, id: number, failure: unknown): void {
  const details = faultDetails(failure);
  store.actions.finishEvent(
    id,
    failure === undefined
      ? { result: "Success" }
      : { result: "Error", details: publicMessageOf(failure), ...(details === null ? {} : { traceback: details }) },
  );
}
