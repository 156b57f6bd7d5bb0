import { isObject } from "../../runtime/collections.js";
import type { RowsInHand } from "../messages/rows-in-hand.js";

/** Most moves that are remembered. */
const MAX_PREPARED_MOVES = 1_000;
/** Milliseconds for which a move is remembered: less than a host is silent before Nova calls it down. */
const PREPARED_TTL_MS = 30_000;

/**
 * Messages that are judged by the records in them, without a second look. Their sender has read these for them, and what comes next
 * looks again: the checks of a live migration change nothing, and are judged anew when it begins; its preparation reads the
 * migration, which only the source moves on; a build and a finish begin with a save that is refused when the instance has another
 * task. A finish that comes late, as to an agent that was suspended, is looked into.
 */
export class TrustedMessages {
  /** When this process has prepared which moves; each comes back once: a repeated message is looked into. */
  readonly #prepared = new Map<number, number>();
  readonly #now: () => number;

  /** @param now monotonic milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  offer(method: string, args: Readonly<Record<string, unknown>>, rows: RowsInHand): void {
    const { instance, migration, node } = args;
    const uuid = dataOf(instance).uuid;
    const id = dataOf(migration).id;
    // The message by which a move's destination prepares for it, and no other, names the node that it is claimed on.
    if (migration !== undefined && node !== undefined) {
      this.#prepare(Number(id));
      return;
    }
    switch (method) {
      case "finish_resize":
        if (this.#takeBack(Number(id))) {
          rows.offer("Instance", String(uuid));
          rows.offer("Migration", Number(id));
        }
        break;
      case "build_and_run_instance":
      case "check_can_live_migrate_destination":
      case "check_can_live_migrate_source":
      case "pre_live_migration":
        rows.offer("Instance", String(uuid));
    }
  }

  #takeBack(id: number): boolean {
    const at = this.#prepared.get(id) ?? Number.NEGATIVE_INFINITY;
    this.#prepared.delete(id);
    return this.#now() - at <= PREPARED_TTL_MS;
  }

  #prepare(id: number): void {
    this.#prepared.set(id, this.#now());
    const [oldest] = this.#prepared.keys();
    if (this.#prepared.size > MAX_PREPARED_MOVES && oldest !== undefined) {
      this.#prepared.delete(oldest);
    }
  }
}

function dataOf(object: unknown): Readonly<Record<string, unknown>> {
  const data = isObject(object) ? object["nova_object.data"] : undefined;
  return isObject(data) ? data : {};
}
