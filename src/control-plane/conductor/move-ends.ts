import type { Logger } from "../../runtime/logger.js";
import type { Store } from "../store/store.js";
import type { Outbox } from "./outbox.js";

/** Milliseconds in which an agent has to answer; it only notes the end. */
const TIMEOUT = 10_000;

/**
 * Tells the destination that a move has ended, whoever ended it: its agent may be waiting for the guest before it stops (spec
 * 2.8). An agent that cannot be reached now reads the records itself when it begins to wait.
 */
export class MoveEnds {
  readonly #store: Store;
  readonly #outbox: Outbox;
  readonly #logger: Logger;

  constructor(store: Store, outbox: Outbox, logger: Logger) {
    this.#store = store;
    this.#outbox = outbox;
    this.#logger = logger;
  }

  /** The migration was written, or deleted with its instance. */
  changed(id: number): void {
    const ended = this.#store.migrations.endedMove(id);
    const session = ended && this.#outbox.server(ended.destCompute);
    if (!session) {
      return;
    }
    const { instanceUuid, destCompute: host } = ended;
    session
      .ask("migration_ended", { params: { instanceUuid, migrationId: id }, meta: { host, timeout: TIMEOUT } })
      .catch((err: unknown) => this.#logger.debug("a destination was not told that a move ended", { err, host }));
  }
}
