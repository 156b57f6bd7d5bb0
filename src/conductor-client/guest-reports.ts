import type { CancelTimer, Timers } from "../runtime/time.js";
import type { Link } from "./link.js";
import type { ParamsOf } from "./methods/method.js";
import { MAX_ANNOUNCED_HOSTS, type SessionMethods } from "./methods/session.js";

/** Milliseconds for which hosts are gathered: an operation changes a guest in several steps, and a process may have thousands of hosts. */
const GATHERED = 50;

type Sending = Pick<Link, "open" | "send">;

/** Tells the conductor which hosts' guests have changed, for as long as it says that somebody looks. */
export class GuestReports {
  readonly #timers: Pick<Timers, "after">;
  readonly #changed = new Set<string>();
  /** On which somebody looks. */
  #link: Sending | undefined;
  #cancel: CancelTimer | undefined;

  constructor({ timers }: { readonly timers: Pick<Timers, "after"> }) {
    this.#timers = timers;
  }

  /** What the conductor says on a link holds until the link ends. */
  watched(isWatched: boolean, link: Sending): void {
    this.#link = isWatched ? link : undefined;
  }

  changed(host: string): void {
    if (this.#link?.open === true) {
      this.#changed.add(host);
      this.#cancel ??= this.#timers.after(GATHERED, () => this.#sendChanges());
    }
  }

  #sendChanges(): void {
    this.#cancel = undefined;
    const hosts = [...this.#changed];
    this.#changed.clear();
    for (let from = 0; from < hosts.length && this.#link?.open === true; from += MAX_ANNOUNCED_HOSTS) {
      const params: ParamsOf<SessionMethods, "guests_changed"> = {
        hosts: hosts.slice(from, from + MAX_ANNOUNCED_HOSTS),
      };
      // A notification: one that is lost is made good by the next, or by whoever looks at the host anew.
      this.#link.send({ jsonrpc: "2.0", method: "guests_changed", params });
    }
  }
}
