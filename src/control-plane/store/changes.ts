import type { Logger } from "../../runtime/logger.js";
import type { Sql } from "./sql.js";

/** What changed; the id is the row's, for instances the uuid, for messages the host. */
export interface StoreChange {
  readonly kind:
    | "service"
    | "compute_node"
    | "instance"
    | "migration"
    | "flavor"
    | "aggregate"
    | "message"
    | "task"
    | "action";
  readonly id: number | string;
  /** When the conductor heard of the service (ms), if nothing else of it changed. */
  readonly heartbeatAt?: number;
}

/** Tells listeners of changes, once they are committed. */
export class Changes {
  readonly #sql: Sql;
  readonly #logger: Logger;
  readonly #listeners = new Set<(change: StoreChange) => void>();

  constructor(sql: Sql, logger: Logger) {
    this.#sql = sql;
    this.#logger = logger;
  }

  listen(listener: (change: StoreChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  changed(kind: StoreChange["kind"], id: StoreChange["id"]): void {
    this.#queue({ kind, id });
  }

  heartbeatReceived(serviceId: number, heartbeatAt: number): void {
    this.#queue({ kind: "service", id: serviceId, heartbeatAt });
  }

  #queue(change: StoreChange): void {
    this.#sql.afterCommit(() => {
      for (const listener of this.#listeners) {
        try {
          listener(change);
        } catch (err) {
          // The change is committed: a listener that throws must not make its writer fail.
          this.#logger.error("a listener of the state of record failed", { err, kind: change.kind });
        }
      }
    });
  }
}
