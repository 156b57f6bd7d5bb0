import { id, text, time } from "../../records/field.js";
import { checkOf } from "./record-fields.js";
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
 * Tables `messages` and `answers`: casts that agents have not yet accepted, and replies of calls. They make both
 * exactly-once.
 */
export function createMessageTables({ sql, clock, changes }: StoreContext) {
  const table = new Table(sql, MESSAGES);
  /** The calls, by boot, that have or had a stored reply; loaded at first use. */
  let recordedCalls: Map<string, Set<number>> | null = null;

  return {
    /** `params` is JSON text. */
    enqueue: (message: Omit<MessageRow, "id" | "createdAt">): number =>
      sql.transaction(() => {
        const id = table.insert({ ...message, createdAt: clock.now() });
        changes.changed("message", message.host);
        return id;
      }),
    /** Returns the number of messages that each host has not yet accepted. */
    countsByHost(): ReadonlyMap<string, number> {
      const rows = sql.all("SELECT host, count(*) FROM messages GROUP BY host");
      return new Map(rows.map(([host, count]) => [String(host), Number(count)]));
    },
    /** Returns the pending messages of a host, oldest first. */
    pending(host: string, options: { readonly after?: number; readonly limit?: number } = {}): QueuedMessage[] {
      const { after = 0, limit = Number.MAX_SAFE_INTEGER } = options;
      return table
        .many("host = ? AND id > ? ORDER BY id LIMIT ?", host, after, limit)
        .map(({ id, method, params, requestId }) => ({ id, method, params, requestId }));
    },
    /**
     * Checks whether a message about the instance is pending for the host.
     * @param requestId only a message of this request
     */
    isPending(host: string, instanceUuid: string, requestId?: string): boolean {
      const query = "host = ? AND json_extract(params, '$.instanceUuid') = ?";
      const waiting = table.many(query, host, instanceUuid);
      return waiting.some((message) => requestId === undefined || message.requestId === requestId);
    },
    taken: (ids: readonly number[]): void =>
      sql.execute("DELETE FROM messages WHERE id IN (SELECT value FROM json_each(?))", JSON.stringify(ids)),
    /** Returns the stored reply (JSON text) to a call of that agent boot; null if the call was not executed. */
    findReply(bootId: string, callId: number): string | null {
      recordedCalls ??= readRecordedCalls();
      if (recordedCalls.get(bootId)?.has(callId) !== true) {
        return null;
      }
      const row = sql.get("SELECT answer FROM answers WHERE boot_id = ? AND call_id = ?", bootId, callId);
      return row ? String(row[0]) : null;
    },
    recordReply(bootId: string, callId: number, reply: string): void {
      anyText(bootId, "bootId");
      anyId(callId, "callId");
      sql.execute(
        "INSERT INTO answers (boot_id, call_id, answer, created_at) VALUES (?, ?, ?, ?)",
        bootId,
        callId,
        reply,
        clock.now(),
      );
      if (recordedCalls !== null) {
        keep(recordedCalls, bootId, callId);
      }
    },
    /** Deletes the replies up to `callId`, which the agent has acknowledged. Writes nothing if none is stored. */
    forgetReplies(bootId: string, callId: number): void {
      recordedCalls ??= readRecordedCalls();
      const calls = recordedCalls.get(bootId) ?? new Set();
      const acknowledged = [...calls].filter((call) => call <= callId);
      if (acknowledged.length === 0) {
        return;
      }
      for (const call of acknowledged) {
        calls.delete(call);
      }
      sql.execute("DELETE FROM answers WHERE boot_id = ? AND call_id <= ?", bootId, callId);
    },
    /** Deletes replies that were stored before this time (ms). The agents of those boots no longer wait for them. */
    forgetRepliesBefore(time: number): void {
      sql.execute("DELETE FROM answers WHERE created_at < ?", time);
      recordedCalls = null;
    },
  };

  function readRecordedCalls(): Map<string, Set<number>> {
    const callsByBoot = new Map<string, Set<number>>();
    for (const [bootId, callId] of sql.all("SELECT boot_id, call_id FROM answers")) {
      keep(callsByBoot, String(bootId), Number(callId));
    }
    return callsByBoot;
  }
}

function keep(callsByBoot: Map<string, Set<number>>, bootId: string, callId: number): void {
  const calls = callsByBoot.get(bootId) ?? new Set();
  callsByBoot.set(bootId, calls.add(callId));
}
