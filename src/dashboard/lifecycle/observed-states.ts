import type { Clock } from "../../runtime/time.js";
import type { ConsumerRow } from "../wire/placement-rows.js";
import type { ServerLife, ServerRow, StateRow } from "../wire/server-rows.js";

/** Servers of which something is kept, those that changed last. */
const MAX_SERVERS = 1_000;
/** States that are kept of one server. */
const MAX_STATES = 200;

interface ObservedServer {
  readonly states: StateRow[];
  readonly consumers: { readonly at: number; readonly consumer: ConsumerRow }[];
}

/** What the records do not keep: the states that servers went through, and what they and their moves held, while somebody looked. */
export class ObservedStates {
  readonly #clock: Pick<Clock, "now">;
  readonly #servers = new Map<string, ObservedServer>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  clear(): void {
    this.#servers.clear();
  }

  noteServer({ uuid, vmState, taskState, host, requestId }: ServerRow): void {
    const { states } = this.#of(uuid);
    const last = states.at(-1);
    if (last?.vmState !== vmState || last.taskState !== taskState || last.host !== host) {
      states.push({ at: this.#clock.now(), vmState, taskState, host, requestId });
      states.splice(0, states.length - MAX_STATES);
    }
  }

  /** @param server that it is, or whose move it is */
  noteConsumer(server: string, consumer: ConsumerRow): void {
    const { consumers } = this.#of(server);
    const last = consumers.findLast((each) => each.consumer.uuid === consumer.uuid);
    if (JSON.stringify(last?.consumer.held) !== JSON.stringify(consumer.held)) {
      consumers.push({ at: this.#clock.now(), consumer });
      consumers.splice(0, consumers.length - MAX_STATES);
    }
  }

  /** The consumer holds nothing any more. */
  noteFreed(uuid: string, server: string | null): void {
    const observed = server === null ? undefined : this.#servers.get(server);
    const last = observed?.consumers.findLast((each) => each.consumer.uuid === uuid);
    if (server !== null && last !== undefined && Object.keys(last.consumer.held).length > 0) {
      this.noteConsumer(server, { ...last.consumer, held: {} });
    }
  }

  statesOf(uuid: string): ServerLife["states"] {
    return this.#servers.get(uuid)?.states ?? [];
  }

  consumersOf(uuid: string): ServerLife["history"] {
    return this.#servers.get(uuid)?.consumers ?? [];
  }

  #of(uuid: string): ObservedServer {
    const observed = this.#servers.get(uuid) ?? { states: [], consumers: [] };
    this.#servers.delete(uuid);
    this.#servers.set(uuid, observed);
    for (const oldest of this.#servers.keys()) {
      if (this.#servers.size <= MAX_SERVERS) {
        break;
      }
      this.#servers.delete(oldest);
    }
    return observed;
  }
}
