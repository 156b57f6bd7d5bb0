import { WATCH_GUESTS } from "../../conductor-client/methods/session.js";
import type { Session } from "./session.js";

/** Knows whether somebody looks at the hosts' guests. While somebody does, agents say whose have changed; else they say nothing. */
export class GuestWatch {
  readonly #sessions: Iterable<Session>;
  readonly #listeners = new Set<(host: string) => void>();

  /** @param sessions those that are open */
  constructor(sessions: Iterable<Session>) {
    this.#sessions = sessions;
  }

  /** Calls the listener with each host whose guests have changed, until what is returned is called. */
  begin(listener: (host: string) => void): () => void {
    this.#listeners.add(listener);
    this.#notifyAll(this.#listeners.size === 1);
    return () => {
      this.#listeners.delete(listener);
      this.#notifyAll(this.#listeners.size === 0);
    };
  }

  /** A process has connected. */
  introduced(session: Session): void {
    if (this.#listeners.size > 0) {
      session.notify(WATCH_GUESTS, { watched: true });
    }
  }

  changed(hosts: readonly string[]): void {
    for (const listener of this.#listeners) {
      for (const host of hosts) {
        listener(host);
      }
    }
  }

  #notifyAll(isNews: boolean): void {
    for (const session of isNews ? this.#sessions : []) {
      if (session.identity !== undefined) {
        session.notify(WATCH_GUESTS, { watched: this.#listeners.size > 0 });
      }
    }
  }
}
