import { SparseMap } from "../runtime/collections.js";

/** Which request of the API the agent is carrying out for an instance; the newest, where there are several. */
export class RequestsUnderWay {
  readonly #byInstance = new SparseMap<string, string[]>();

  /** Until `work` ends, the agent acts on this instance for this request. */
  async during<T>(instanceUuid: string, requestId: string, work: () => Promise<T>): Promise<T> {
    const requests = this.#byInstance.get(instanceUuid) ?? [];
    this.#byInstance.set(instanceUuid, [...requests, requestId]);
    try {
      return await work();
    } finally {
      const left = [...(this.#byInstance.get(instanceUuid) ?? [])];
      left.splice(left.lastIndexOf(requestId), 1);
      if (left.length > 0) {
        this.#byInstance.set(instanceUuid, left);
      } else {
        this.#byInstance.delete(instanceUuid);
      }
    }
  }

  of(instanceUuid: string | undefined): string | undefined {
    return instanceUuid === undefined ? undefined : this.#byInstance.get(instanceUuid)?.at(-1);
  }
}
