import type { Instance } from "../../conductor/records/index.js";
import { KeyedLock } from "../../runtime/keyed-lock.js";
import { TaskQueue } from "../../runtime/queue.js";
import type { AgentContext, BuildRequestOptions, Operations, RebuildOptions, ResourceTracker } from "../contracts.js";
import { buildInstance } from "./build-instance.js";
import { completePartialDeletion, deleteInstance } from "./delete-instance.js";
import type { OperationParts } from "./parts.js";
import { rebootInstance, startInstance, stopInstance, unpauseInstance } from "./power.js";
import { syncInstancePowerState } from "./power-sync.js";
import { rebuildInstance } from "./rebuild-instance.js";

export const createOperations = (context: AgentContext, tracker: ResourceTracker): Operations =>
  new InstanceOperations({ context, tracker });

/** Runs the flows of spec 6: one at a time for an instance, `max_concurrent_builds` builds at a time in all. */
export class InstanceOperations implements Operations {
  readonly #parts: OperationParts;
  readonly #locks = new KeyedLock<string>();
  readonly #builds: TaskQueue;
  #active = 0;

  constructor(parts: OperationParts) {
    this.#parts = parts;
    this.#builds = new TaskQueue(parts.context.config.defaults.maxConcurrentBuilds);
  }

  get active(): number {
    return this.#active;
  }

  async buildAndRunInstance(request: BuildRequestOptions): Promise<void> {
    const parts = this.#for(request.requestId);
    // A build that waits for its turn holds no lock, so that the instance can be deleted meanwhile.
    await this.#tracked(() =>
      this.#builds.run(() => this.#locks.run(request.instanceUuid, () => buildInstance(parts, request))),
    );
  }

  async terminateInstance({ uuid }: Instance, requestId: string): Promise<void> {
    await this.#serial(uuid, () => deleteInstance(this.#for(requestId), uuid, requestId));
  }

  async completePartialDeletion(instance: Instance): Promise<void> {
    await this.#serial(instance.uuid, () => completePartialDeletion(this.#parts, instance));
  }

  async rebuildInstance(request: RebuildOptions): Promise<void> {
    await this.#serial(request.instanceUuid, () => rebuildInstance(this.#for(request.requestId), request));
  }

  async startInstance(instance: Instance, requestId: string): Promise<void> {
    await this.#serial(instance.uuid, () => startInstance(this.#for(requestId), instance, requestId));
  }

  async stopInstance(instance: Instance, requestId: string): Promise<void> {
    await this.#serial(instance.uuid, () => stopInstance(this.#for(requestId), instance, requestId));
  }

  async rebootInstance(instance: Instance, type: "SOFT" | "HARD", requestId: string): Promise<void> {
    await this.#serial(instance.uuid, () => rebootInstance(this.#for(requestId), instance, type, requestId));
  }

  async unpauseInstance(instance: Instance, requestId: string): Promise<void> {
    await this.#serial(instance.uuid, () => unpauseInstance(this.#for(requestId), instance, requestId));
  }

  async syncInstancePowerState({ uuid }: Instance): Promise<void> {
    await this.#serial(uuid, () => syncInstancePowerState(this.#parts, uuid));
  }

  /** Everything that the operation logs carries its request id. */
  #for(requestId: string): OperationParts {
    const { context, tracker } = this.#parts;
    const logger = context.runtime.logger.child({ request_id: requestId });
    return { tracker, context: { ...context, runtime: { ...context.runtime, logger } } };
  }

  async #serial(uuid: string, task: () => Promise<void>): Promise<void> {
    await this.#tracked(() => this.#locks.run(uuid, task));
  }

  async #tracked(task: () => Promise<void>): Promise<void> {
    this.#active += 1;
    try {
      await task();
    } finally {
      this.#active -= 1;
    }
  }
}
