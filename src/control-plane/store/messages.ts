import { id, text, time } from "../../records/field.js";
import { checkOf } from "./check.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

export interface QueuedMessage {
  readonly id: number;
  readonly method: string;
  readonly params: string;
  readonly requestId: string;
}

interface MessageRow extends QueuedMessage {
  readonly host: string;
  readonly createdAt: number;
}

const MESSAGES = tableOf("messages", {
  id,
  host: text(),
  method: text(),
  params: text(4 * 1024 * 1024),
  requestId: text(),
  createdAt: time,
});
const anyText = checkOf(text());
const anyId = checkOf(id);

/**
 * Tables `messages` and `answers`: casts that agents have not taken yet, and the answers of calls. They make both
 * exactly-once.
 */
export class Messages {
  readonly #context: StoreContext;
  readonly #table: Table<MessageRow>;
  /** Calls by boot whose answers are kept, or were; read when it is first needed. */
  #kept: Map<string, Set<number>> | null = null;

  constructor(context: StoreContext) {
    this.#context = context;
    this.#table = new Table(context.sql, MESSAGES);
  }

  /** `params` is JSON text. */
  enqueue(message: Omit<MessageRow, "id" | "createdAt">): number {
    const { sql, clock, changes } = this.#context;
    return sql.transaction(() => {
      const id = this.#table.insert({ ...message, createdAt: clock.now() });
      changes.changed("message", message.host);
      return id;
    });
  }

  /** How many each host has not taken yet. */
  countsByHost(): ReadonlyMap<string, number> {
    const rows = this.#context.sql.all("SELECT host, count(*) FROM messages GROUP BY host");
    return new Map(rows.map(([host, count]) => [String(host), Number(count)]));
  }

  /** Oldest first. */
  pending(host: string, options: { readonly after?: number; readonly limit?: number } = {}): QueuedMessage[] {
    const { after = 0, limit = Number.MAX_SAFE_INTEGER } = options;
    return this.#table
      .many("host = ? AND id > ? ORDER BY id LIMIT ?", host, after, limit)
      .map(({ id, method, params, requestId }) => ({ id, method, params, requestId }));
  }

  /** Whether one about the instance waits for the host. @param requestId only one of that request */
  isPending(host: string, instanceUuid: string, requestId?: string): boolean {
    const query = "host = ? AND json_extract(params, '$.instanceUuid') = ?";
    const waiting = this.#table.many(query, host, instanceUuid);
    return waiting.some((message) => requestId === undefined || message.requestId === requestId);
  }

  taken(ids: readonly number[]): void {
    this.#context.sql.execute("DELETE FROM messages WHERE id IN (SELECT value FROM json_each(?))", JSON.stringify(ids));
  }

  /** The stored answer (JSON text) of a call of that agent boot, if it was carried out. */
  answer(bootId: string, callId: number): string | null {
    this.#kept ??= this.#readKept();
    if (this.#kept.get(bootId)?.has(callId) !== true) {
      return null;
    }
    const row = this.#context.sql.get("SELECT answer FROM answers WHERE boot_id = ? AND call_id = ?", bootId, callId);
    return row ? String(row[0]) : null;
  }

  recordAnswer(bootId: string, callId: number, answer: string): void {
    anyText(bootId, "bootId");
    anyId(callId, "callId");
    this.#context.sql.execute(
      "INSERT INTO answers (boot_id, call_id, answer, created_at) VALUES (?, ?, ?, ?)",
      bootId,
      callId,
      answer,
      this.#context.clock.now(),
    );
    if (this.#kept !== null) {
      keep(this.#kept, bootId, callId);
    }
  }

  /** The agent has seen every answer up to `callId`. Nothing is written when none of them is kept. */
  forgetAnswers(bootId: string, callId: number): void {
    this.#kept ??= this.#readKept();
    const calls = this.#kept.get(bootId) ?? new Set();
    const seen = [...calls].filter((call) => call <= callId);
    if (seen.length === 0) {
      return;
    }
    for (const call of seen) {
      calls.delete(call);
    }
    this.#context.sql.execute("DELETE FROM answers WHERE boot_id = ? AND call_id <= ?", bootId, callId);
  }

  /** Drops what was recorded before that time (ms): the agents of those boots have long given up. */
  forgetAnswersBefore(time: number): void {
    this.#context.sql.execute("DELETE FROM answers WHERE created_at < ?", time);
    this.#kept = null;
  }

  #readKept(): Map<string, Set<number>> {
    const kept = new Map<string, Set<number>>();
    for (const [bootId, callId] of this.#context.sql.all("SELECT boot_id, call_id FROM answers")) {
      keep(kept, String(bootId), Number(callId));
    }
    return kept;
  }
}

function keep(kept: Map<string, Set<number>>, bootId: string, callId: number): void {
  const calls = kept.get(bootId) ?? new Set();
  kept.set(bootId, calls.add(callId));
}
