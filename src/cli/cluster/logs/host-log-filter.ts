import { expandHosts } from "../../../records/host-range.js";
import { ENTRY } from "./log-entry.js";

/** Says of the lines of a pool's log, in their order, which are about one host: those that name it, alone or in a range. */
export class HostLogFilter {
  readonly #host: string;
  readonly #name: RegExp;
  /** Whether a range has the host. */
  readonly #ranges = new Map<string, boolean>();
  #last = false;

  constructor(host: string) {
    this.#host = host;
    const name = host.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    this.#name = new RegExp(`(?<![\\w.-])${name}(?![\\w-]|\\.\\w)`, "u");
  }

  /** Lines that begin no entry, as those of a stack, belong to the entry before. */
  accepts(line: string): boolean {
    if (ENTRY.test(line)) {
      this.#last = this.#name.test(line) || (line.match(RANGES) ?? []).some((range) => this.#isIn(range));
    }
    return this.#last;
  }

  #isIn(range: string): boolean {
    const known = this.#ranges.get(range);
    if (known !== undefined) {
      return known;
    }
    let isIn = false;
    try {
      isIn = expandHosts(range).includes(this.#host);
    } catch {
      // It is something else in brackets.
    }
    if (this.#ranges.size < MAX_CACHED_RANGES) {
      this.#ranges.set(range, isIn);
    }
    return isIn;
  }
}

/** As `rack[01-20]-node[1,3]`. */
const RANGES = /[\w.-]+(?:\[[\d,-]+\][\w.-]*)+/g;

/** Ranges that are remembered. */
const MAX_CACHED_RANGES = 1_000;
