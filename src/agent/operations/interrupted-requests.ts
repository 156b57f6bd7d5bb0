import { SparseMap } from "../../runtime/sparse.js";

/** A request on an instance whose operation has ended here without all answers of the conductor, or without the host's lease. */
export interface InterruptedRequest {
  readonly instanceUuid: string;
  readonly requestId: string;
}

/**
 * Requests that left their instances as a crash would, while the agent lives: the conductor was away for longer than a call waits,
 * or than the host's lease holds. They are forgotten with the process, since the next start finds what they left by itself.
 */
export class InterruptedRequests {
  /** By instance: the last one. */
  readonly #requests = new SparseMap<string, InterruptedRequest>();

  get all(): readonly InterruptedRequest[] {
    return [...this.#requests.values()];
  }

  add(request: InterruptedRequest): void {
    this.#requests.set(request.instanceUuid, request);
  }

  /** What it left is settled, or somebody else's. */
  remove(request: InterruptedRequest): void {
    if (this.#requests.get(request.instanceUuid) === request) {
      this.#requests.delete(request.instanceUuid);
    }
  }
}
