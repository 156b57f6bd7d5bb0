import type { Cause } from "../../../testing/attempt.js";

/** What failed already, so that each cause is one failure however many rules it keeps from being shown. */
export class Causes {
  readonly #rules = new Map<string, string>();
  /** Methods that never came back, by the rule that found it. */
  readonly #hung = new Map<string, string>();
  #fatal: string | null = null;

  get hung(): readonly string[] {
    return [...this.#hung.keys()];
  }

  /** Why no other rule can be shown: without `create` there is no driver. */
  get fatal(): string | null {
    return this.#fatal;
  }

  /** Notes the cause of a rule's failure. @returns why the rule is not another failure; null: it is. */
  recordFailure(cause: Cause, code: string): string | null {
    const key = `${cause.method}: ${withoutNames(cause.text)}`;
    const before = this.#rules.get(key);
    if (before !== undefined) {
      return `${cause.method} failed as in ${before}`;
    }
    this.#rules.set(key, code);
    if (cause.method === "create") {
      this.#fatal = `create failed as in ${code}`;
    }
    return null;
  }

  hangs(method: string, code: string): void {
    if (!this.#hung.has(method)) {
      this.#hung.set(method, code);
    }
  }

  /** Why a rule that calls a method that hangs was not reached. */
  becauseOf(method: string): string {
    return `${method} did not come back in ${this.#hung.get(method)}`;
  }
}

/** The same error of another rule has other uuids, folders and numbers in it. */
function withoutNames(text: string): string {
  return text
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, "UUID")
    .replace(/(driver-check-UUID|\/driver-check)\/[a-z-]+/g, "FOLDER")
    .replace(/check-host-\d/g, "HOST")
    .replace(/\d+/g, "N");
}
