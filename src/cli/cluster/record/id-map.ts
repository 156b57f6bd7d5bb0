import { isObject } from "../../../runtime/is-object.js";

/** Ids as OpenStack's services make them: with hyphens, or, in Identity, without. */
const ID = /\b(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})\b/g;

/** Fields by which things in lists are known, whatever their order. */
const NAMES = ["name", "host", "hypervisor_hostname", "binary", "action"];

/** What the ids of one cloud are in another one, learnt from answers to the same questions. */
export class IdMap {
  readonly #ids = new Map<string, string>();

  of(id: string): string | undefined {
    return this.#ids.get(id);
  }

  /** The text with every id that is known. */
  translate(text: string): string {
    return text.replaceAll(ID, (id) => this.#ids.get(id) ?? id);
  }

  /** Compares what was answered then and now. */
  learn(then: unknown, now: unknown): void {
    if (typeof then === "string" && typeof now === "string") {
      this.#learnWithin(then, now);
    } else if (Array.isArray(then) && Array.isArray(now)) {
      then.forEach((each, at) => {
        this.learn(each, partner(each, at, now));
      });
    } else if (isObject(then) && isObject(now)) {
      for (const [key, value] of Object.entries(then)) {
        this.learn(value, now[key]);
      }
    }
  }

  /** Learns which id stands for which, also inside of texts such as links. */
  #learnWithin(then: string, now: string): void {
    const before = then.match(ID) ?? [];
    const after = now.match(ID) ?? [];
    if (before.length !== after.length) {
      return;
    }
    before.forEach((id, at) => {
      const other = after[at];
      // What was learnt first is what was asked with since.
      if (other !== undefined && other !== id && !this.#ids.has(id)) {
        this.#ids.set(id, other);
      }
    });
  }
}

/** The one of the same name, if they have names; else the one in the same place. */
function partner(each: unknown, at: number, others: readonly unknown[]): unknown {
  if (!isObject(each)) {
    return others[at];
  }
  const names = NAMES.filter((name) => typeof each[name] === "string");
  if (names.length === 0) {
    return others[at];
  }
  return others.find((other) => isObject(other) && names.every((name) => other[name] === each[name]));
}
