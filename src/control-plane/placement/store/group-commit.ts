import type { Clock } from "../../../runtime/clock.js";
import type { Servers } from "../../../runtime/server.js";
import type { ServiceResponse } from "../../../runtime/service.js";
import { ChangedRows } from "./changed-rows.js";
import type { Journal, Sink } from "./journal.js";

/** Requests that are committed together at most. */
const MAX_GROUP_SIZE = 128;

/** Milliseconds that a request waits for others at most; what is under way goes on to its end. */
const LONGEST = 5;

/** A request that changes things: it may be handled again when the first time has been taken back. */
type Handle = (sink: Sink) => ServiceResponse;

interface Member {
  readonly handle: Handle;
  readonly settle: (response: ServiceResponse | Promise<never>) => void;
  readonly response: ServiceResponse;
}

/**
 * Commits requests that arrive together in one transaction, before any of them is answered. They are handled one after the
 * other, each on what those before it have left in memory. When the transaction fails, memory is taken back to what it was
 * before the first, and each is handled again with a transaction of its own: what one of them broke is its own failure alone.
 *
 * A single writer does not wait: the first write of a turn of the event loop commits at once, unless the turn before had several.
 */
export class GroupCommit implements Sink {
  readonly #journal: Journal;
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #servers: Pick<Servers, "afterArrivals">;
  #members: Member[] = [];
  #rows = new ChangedRows();
  #undo: (() => void)[] = [];
  #changed = false;
  #since = 0;
  /** Requests of this turn, and whether the one before had several. */
  #arrived = 0;
  #crowded = false;

  constructor(journal: Journal, clock: Pick<Clock, "monotonic">, servers: Pick<Servers, "afterArrivals">) {
    this.#journal = journal;
    this.#clock = clock;
    this.#servers = servers;
  }

  /** Answers when what the request has changed, or has seen changed, is in the database. */
  handle(handle: Handle): ServiceResponse | Promise<ServiceResponse> {
    this.#arrived += 1;
    if (this.#arrived === 1) {
      const alone = !this.#crowded;
      this.#servers.afterArrivals(() => this.#turnEnds());
      if (alone) {
        return handle(this.#journal);
      }
    }
    if (this.#members.length === 0) {
      this.#since = this.#clock.monotonic();
    }
    const response = this.#within(handle);
    if (!this.#changed) {
      return response;
    }
    return new Promise((settle) => {
      this.#members.push({ handle, settle, response });
      if (this.#members.length >= MAX_GROUP_SIZE || this.#clock.monotonic() - this.#since >= LONGEST) {
        this.flush();
      }
    });
  }

  take(rows: ChangedRows, undo: readonly (() => void)[]): void {
    if (rows.empty) {
      return;
    }
    this.#changed = true;
    this.#rows.add(rows);
    this.#undo.push(...undo);
  }

  /** Commits what waits, and answers. */
  flush(): void {
    const members = this.#members;
    const rows = this.#rows;
    const undo = this.#undo;
    if (!this.#changed) {
      return;
    }
    this.#members = [];
    this.#rows = new ChangedRows();
    this.#undo = [];
    this.#changed = false;
    if (this.#written(rows)) {
      for (const { settle, response } of members) {
        settle(response);
      }
      return;
    }
    for (const takeBack of undo.reverse()) {
      takeBack();
    }
    for (const { settle, handle } of members) {
      settle(this.#alone(handle));
    }
  }

  #within(handle: Handle): ServiceResponse {
    try {
      return handle(this);
    } catch (error) {
      this.flush();
      throw error;
    }
  }

  #written(rows: ChangedRows): boolean {
    try {
      this.#journal.take(rows);
      return true;
    } catch {
      // Handled alone, each shows whether the fault was its own.
      return false;
    }
  }

  #alone(handle: Handle): ServiceResponse | Promise<never> {
    try {
      return handle(this.#journal);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #turnEnds(): void {
    this.flush();
    this.#crowded = this.#arrived > 1;
    this.#arrived = 0;
  }
}
