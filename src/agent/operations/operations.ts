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
    // A build that waits for its turn holds no lock, so that the instance can be deleted meanwhile.
    await this.#tracked(() =>
      this.#builds.run(() => this.#locks.run(request.instanceUuid, () => buildInstance(this.#parts, request))),
    );
  }

  async terminateInstance({ uuid }: Instance, requestId: string): Promise<void> {
    await this.#serial(uuid, () => deleteInstance(this.#parts, uuid, requestId));
  }

  async completePartialDeletion(instance: Instance): Promise<void> {
    await this.#serial(instance.uuid, () => completePartialDeletion(this.#parts, instance));
  }

  async rebuildInstance(request: RebuildOptions): Promise<void> {
    await this.#serial(request.instanceUuid, () => rebuildInstance(this.#parts, request));
  }

  async startInstance(instance: Instance, requestId: string): Promise<void> {
    await this.#serial(instance.uuid, () => startInstance(this.#parts, instance, requestId));
  }

  async stopInstance(instance: Instance, requestId: string): Promise<void> {
    await this.#serial(instance.uuid, () => stopInstance(this.#parts, instance, requestId));
  }

  async rebootInstance(instance: Instance, type: "SOFT" | "HARD", requestId: string): Promise<void> {
    await this.#serial(instance.uuid, () => rebootInstance(this.#parts, instance, type, requestId));
  }

  async unpauseInstance(instance: Instance, requestId: string): Promise<void> {
    await this.#serial(instance.uuid, () => unpauseInstance(this.#parts, instance, requestId));
  }

  async syncInstancePowerState({ uuid }: Instance): Promise<void> {
    await this.#serial(uuid, () => syncInstancePowerState(this.#parts, uuid));
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
