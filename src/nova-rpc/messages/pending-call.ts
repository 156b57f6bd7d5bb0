import { ConductorError } from "../../conductor-client/errors.js";
import type { CancelTimer, Timers } from "../../runtime/time.js";
import { errorOf } from "./failures.js";
import type { OsloReply } from "./oslo-message.js";

export interface CallTimeouts {
  /** Milliseconds for the call, including all attempts. */
  readonly total: number;
  /** Milliseconds left of the total. */
  readonly left: number;
  /** Maximum milliseconds without a sign of life; null if none are requested. */
  readonly silence: number | null;
}

/** A call that awaits its reply. */
export class PendingCall {
  readonly reply: Promise<unknown>;
  /** Whether the request may be repeated. */
  readonly repeatable: boolean;
  readonly #what: string;
  readonly #timeouts: CallTimeouts;
  readonly #timers: Timers;
  #resolve: (result: unknown) => void = () => {};
  #reject: (error: Error) => void = () => {};
  readonly #cancelTotal: CancelTimer;
  #cancelSilence: CancelTimer = () => {};

  constructor(what: string, timeouts: CallTimeouts, repeatable: boolean, timers: Timers) {
    this.#what = what;
    this.#timeouts = timeouts;
    this.#timers = timers;
    this.repeatable = repeatable;
    this.reply = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // The call may fail before its reply is awaited.
    this.reply.catch(() => {});
    this.#cancelTotal = timers.after(Math.max(0, timeouts.left), () => this.#expire(`in ${timeouts.total / 1000} s`));
    this.#awaitSign();
  }

  take(reply: OsloReply): void {
    if (reply.failure !== null) {
      this.fail(errorOf(reply.failure));
    } else if (reply.ending) {
      this.#settle();
      this.#resolve(reply.result);
    } else {
      this.#cancelSilence();
      this.#awaitSign();
    }
  }

  fail(error: Error): void {
    this.#settle();
    this.#reject(error);
  }

  #awaitSign(): void {
    const { silence } = this.#timeouts;
    if (silence !== null) {
      this.#cancelSilence = this.#timers.after(silence, () =>
        this.#expire(`and no sign of life in ${silence / 1000} s`),
      );
    }
  }

  #expire(how: string): void {
    this.fail(new ConductorError("MessagingTimeout", `no response to ${this.#what} ${how}`));
  }

  #settle(): void {
    this.#cancelTotal();
    this.#cancelSilence();
  }
}
