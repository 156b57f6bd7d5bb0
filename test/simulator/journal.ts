import { createHash } from "node:crypto";
import type { VirtualWorld } from "../../src/simulation/virtual-world.js";

/** All events with their virtual times, in order. Two runs of one plan have the same journal. */
export class Journal {
  readonly #world: VirtualWorld;
  readonly #start: number;
  readonly #lines: string[] = [];
  readonly #histories = new Map<string, string[]>();
  /** Servers whose DELETE was acknowledged. */
  readonly deleted = new Set<string>();
  /** Nodes that an operator has deleted from Ironic, even temporarily. */
  readonly nodesLeft = new Set<string>();
  /** Operation → the number of acknowledged requests. */
  readonly acknowledged = new Map<string, number>();

  constructor(world: VirtualWorld) {
    this.#world = world;
    this.#start = world.now;
  }

  /** @param server the server to whose history the event belongs */
  note(who: string, what: string, server?: string): void {
    const seconds = ((this.#world.now - this.#start) / 1000).toFixed(3).padStart(9);
    const line = `${seconds} ${who.padEnd(10)} ${what}`;
    this.#lines.push(server === undefined ? line : `${line} [${server}]`);
    if (server !== undefined) {
      this.#histories.set(server, [...(this.#histories.get(server) ?? []), line]);
    }
  }

  count(operation: string): void {
    this.acknowledged.set(operation, (this.acknowledged.get(operation) ?? 0) + 1);
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  historyOf(server: string): readonly string[] {
    return this.#histories.get(server) ?? [];
  }

  /** Returns the hash of all events and log messages. */
  hash(): string {
    const hash = createHash("sha256").update(this.#lines.join("\n"));
    for (const { time, process, level, message } of this.#world.logs) {
      hash.update(`${time} ${process} ${level} ${message}\n`);
    }
    return hash.digest("hex").slice(0, 16);
  }
}
