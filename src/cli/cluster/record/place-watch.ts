import type { RecordedEvent } from "../../../conductor-client/methods/cluster.js";
import type { HostSession } from "../../../conductor-client/port.js";
import type { Clock } from "../../../runtime/clock.js";
import { createdServer } from "./first-places.js";
import type { RecordedPlace } from "./recording.js";

/** Finds out on which hosts new servers are placed: answers to users do not say so. */
export class PlaceWatch {
  readonly #session: HostSession;
  readonly #clock: Pick<Clock, "now">;
  readonly #awaited = new Set<string>();

  constructor(session: HostSession, clock: Pick<Clock, "now">) {
    this.#session = session;
    this.#clock = clock;
  }

  /** @param events that came since the last time @returns where servers are that had no place before */
  async places(events: readonly RecordedEvent[]): Promise<readonly RecordedPlace[]> {
    for (const event of events) {
      const id = "answer" in event ? createdServer(event) : undefined;
      if (id !== undefined) {
        this.#awaited.add(id);
      }
    }
    return (await Promise.all([...this.#awaited].map((id) => this.#placeOf(id)))).flat();
  }

  async #placeOf(server: string): Promise<readonly RecordedPlace[]> {
    const found = await this.#session.call("instance_get", { uuid: server });
    if (found === null || found.vmState === "error") {
      this.#awaited.delete(server);
      return [];
    }
    if (found.host === null) {
      return [];
    }
    this.#awaited.delete(server);
    const service = await this.#session.call("service_get_by_host", { host: found.host, binary: "nova-compute" });
    return [{ at: this.#clock.now(), server, place: `${service?.availabilityZone ?? "nova"}:${found.host}` }];
  }
}
