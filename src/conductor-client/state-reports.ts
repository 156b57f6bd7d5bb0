import type { CancelTimer, Timers } from "../runtime/time.js";
import type { Link } from "./link.js";
import type { ParamsOf, ResultOf } from "./methods/method.js";
import { MAX_ANNOUNCED_HOSTS, MAX_HEARTBEATS, type SessionMethods } from "./methods/session.js";
import type { CallOptions } from "./port.js";
import { decodeError, type Meta } from "./wire.js";

/** Milliseconds that a heartbeat waits for those of other hosts. */
const BATCH_DELAY_MS = 500;

type Params = ParamsOf<SessionMethods, "hosts_report_state">;

type Send = (
  params: Params,
  options: Pick<CallOptions, "timeout">,
) => Promise<ResultOf<SessionMethods, "hosts_report_state">>;

interface Waiting {
  readonly report: Params["reports"][number];
  readonly boot: string | undefined;
  readonly resolve: (nothing: null) => void;
  readonly reject: (error: unknown) => void;
  /** Leaves the promise unsettled, since its caller has ended. */
  readonly drop: () => void;
}

/**
 * Batches the heartbeats of hosts that share a connection: one call for half a second, in which each heartbeat can fail
 * separately. With thousands of hosts, separate calls would be most of the work of an idle cluster.
 */
export class StateReports {
  readonly #timers: Pick<Timers, "after">;
  readonly #send: Send;
  #gathered = new Set<Waiting>();
  readonly #underWay = new Set<ReadonlySet<Waiting>>();
  #timeout: number | undefined;
  #cancel: CancelTimer | undefined;

  /** @param send makes a call that is repeated until there is a response */
  constructor(timers: Pick<Timers, "after">, send: Send) {
    this.#timers = timers;
    this.#send = send;
  }

  /** @throws the rejection of the host's report; the call's own failure; the signal's reason when it is aborted */
  add(service: number, { host = "", boot, unfenced }: Meta, { timeout, signal }: CallOptions): Promise<null> {
    if (signal?.aborted === true) {
      return Promise.reject(signal.reason);
    }
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.#gathered.delete(waiting);
        reject(signal?.reason);
      };
      const end = () => signal?.removeEventListener("abort", abort);
      let dropped = false;
      const waiting: Waiting = {
        report: {
          host,
          service,
          ...(boot === undefined ? {} : { boot }),
          ...(unfenced === undefined ? {} : { unfenced }),
        },
        boot,
        resolve: (nothing) => {
          end();
          if (!dropped) {
            resolve(nothing);
          }
        },
        reject: (error) => {
          end();
          if (!dropped) {
            reject(error);
          }
        },
        drop: () => {
          dropped = true;
          end();
          this.#gathered.delete(waiting);
        },
      };
      signal?.addEventListener("abort", abort, { once: true });
      this.#gather(waiting, timeout);
    });
  }

  /** Drops the heartbeats of one boot of a host; their promises never settle. */
  dropAll({ host, boot }: Pick<Meta, "host" | "boot">): void {
    for (const group of [this.#gathered, ...this.#underWay]) {
      for (const waiting of group) {
        if (waiting.report.host === host && waiting.boot === boot) {
          waiting.drop();
        }
      }
    }
  }

  /** Sends the present batch. */
  flush(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const group = this.#gathered;
    this.#gathered = new Set();
    if (group.size > 0) {
      void this.#report(group);
    }
  }

  #gather(waiting: Waiting, timeout: number | undefined): void {
    this.#gathered.add(waiting);
    this.#timeout = timeout;
    if (this.#gathered.size >= MAX_HEARTBEATS) {
      this.flush();
    } else {
      this.#cancel ??= this.#timers.after(BATCH_DELAY_MS, () => this.flush());
    }
  }

  /** Never rejects. */
  async #report(group: ReadonlySet<Waiting>): Promise<void> {
    const sent = [...group];
    this.#underWay.add(group);
    try {
      const options = this.#timeout === undefined ? {} : { timeout: this.#timeout };
      const rejected = await this.#send({ reports: sent.map(({ report }) => report) }, options);
      const errors = new Map(rejected.map(({ at, error }) => [at, error]));
      for (const [at, { resolve, reject }] of sent.entries()) {
        const error = errors.get(at);
        if (error === undefined) {
          resolve(null);
        } else {
          reject(decodeError(error));
        }
      }
    } catch (error) {
      for (const { reject } of sent) {
        reject(error);
      }
    } finally {
      this.#underWay.delete(group);
    }
  }
}

/** Milliseconds of a batch: an operation changes a guest in several steps, and a process may have thousands of hosts. */
const GATHERED = 50;

type Sending = Pick<Link, "open" | "send">;

/** Reports the hosts with changed guests to the conductor, while that watches the guests. */
export class GuestReports {
  readonly #timers: Pick<Timers, "after">;
  readonly #changed = new Set<string>();
  /** The link on which the guests are watched. */
  #link: Sending | undefined;
  #cancel: CancelTimer | undefined;

  constructor({ timers }: { readonly timers: Pick<Timers, "after"> }) {
    this.#timers = timers;
  }

  /** Applies the conductor's request, which is valid until the link ends. */
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
      // A notification: a lost one is compensated by the next, or by the next complete read of the host.
      this.#link.send({ jsonrpc: "2.0", method: "guests_changed", params });
    }
  }
}
