import type { Logger } from "../../runtime/runtime.js";
import type { Store } from "../store/store.js";
import type { Session } from "./session.js";

/** Max unacknowledged casts per host. */
const WINDOW = 64;

interface Delivery {
  readonly session: Session;
  readonly underWay: Set<number>;
  /** Id of the last message sent on this connection. */
  sent: number;
}

/**
 * Delivers casts to serving agents: in order per host, and again from the first unacknowledged one on a new connection. A
 * message is deleted when the agent has acknowledged it.
 */
export class Outbox {
  readonly #store: Store;
  readonly #logger: Logger;
  readonly #deliveries = new Map<string, Delivery>();
  /** Acknowledged messages that are still stored. */
  #taken: number[] = [];

  constructor(store: Store, logger: Logger) {
    this.#store = store;
    this.#logger = logger;
  }

  /** Returns the connection that receives the host's casts. */
  server(host: string): Session | undefined {
    return this.#deliveries.get(host)?.session;
  }

  serve(host: string, session: Session): void {
    if (this.server(host) === session) {
      return;
    }
    this.#deliveries.set(host, { session, underWay: new Set(), sent: 0 });
    this.deliver(host);
  }

  /** Stops delivery if this connection serves the host. */
  unserve(host: string, session: Session): void {
    if (this.server(host) === session) {
      this.#deliveries.delete(host);
    }
  }

  sessionEnded(session: Session): void {
    for (const [host, delivery] of this.#deliveries) {
      if (delivery.session === session) {
        this.#deliveries.delete(host);
      }
    }
  }

  /** Sends stored messages up to the window's size. */
  deliver(host: string): void {
    const delivery = this.#deliveries.get(host);
    const limit = WINDOW - (delivery?.underWay.size ?? WINDOW);
    if (!delivery || limit <= 0) {
      return;
    }
    for (const message of this.#store.messages.pending(host, { after: delivery.sent, limit })) {
      delivery.sent = message.id;
      delivery.underWay.add(message.id);
      const { method, requestId } = message;
      const meta = { host, requestId, message: message.id };
      const params: unknown = JSON.parse(message.params);
      delivery.session
        .ask(method, { params, meta })
        .then(() => this.#acknowledged(host, delivery, message.id))
        // The message stays in the store and is delivered when an agent serves the host again.
        .catch((err: unknown) =>
          this.#logger.debug("message not acknowledged by the agent; it will be delivered again", {
            err,
            host,
            message: message.id,
          }),
        );
    }
  }

  #acknowledged(host: string, delivery: Delivery, id: number): void {
    // It counts even if another connection serves by now: that one received the message as well, and drops the duplicate.
    this.#taken.push(id);
    if (this.#taken.length === 1) {
      // Coalesces all acknowledgements of a frame into one write.
      void Promise.resolve().then(() => this.#dropTaken());
    }
    delivery.underWay.delete(id);
    if (this.#deliveries.get(host) === delivery) {
      this.deliver(host);
    }
  }

  #dropTaken(): void {
    const ids = this.#taken;
    this.#taken = [];
    try {
      this.#store.messages.taken(ids);
    } catch (err) {
      // They are delivered again when an agent serves the host again; it drops duplicates.
      this.#logger.debug("acknowledged messages could not be deleted; they will be delivered again", {
        err,
        messages: ids,
      });
    }
  }
}

/** Milliseconds for the agent's response; it only records the end of the move. */
const TIMEOUT = 10_000;

/**
 * Notifies the destination's agent that a move has ended: it may be waiting for the guest before it stops (spec 2.8). An
 * agent that is unreachable reads the records itself when it starts to wait.
 * @param id a migration that was written, or deleted with its instance
 */
export function notifyMoveEnd(
  { store, outbox, logger }: { readonly store: Store; readonly outbox: Outbox; readonly logger: Logger },
  id: number,
): void {
  const ended = store.migrations.endedMove(id);
  const session = ended && outbox.server(ended.destCompute);
  if (!session) {
    return;
  }
  const { instanceUuid, destCompute: host } = ended;
  session
    .ask("migration_ended", { params: { instanceUuid, migrationId: id }, meta: { host, timeout: TIMEOUT } })
    .catch((err: unknown) =>
      logger.debug("the destination could not be notified that a move has ended", { err, host }),
    );
}
