import type { DriverDefinition, VirtDriver } from "../../../virt/index.js";
import type { FromChild } from "./messages.js";

/** Reports each call of an author's methods as it begins and ends, so that another process knows which one is under way. */
export class WatchedCalls {
  readonly #report: (message: FromChild) => void;
  readonly #hung: ReadonlySet<string>;
  readonly #onHung: (method: string) => void;
  #closing = false;
  #calls = 0;

  /** @param onHung is called for a method of `hung`, which is then not called. */
  constructor(report: (message: FromChild) => void, hung: readonly string[], onHung: (method: string) => void) {
    this.#report = report;
    this.#hung = new Set(hung);
    this.#onHung = onHung;
  }

  /** From now on nothing waits for what hangs. */
  close(): void {
    this.#closing = true;
  }

  definition(definition: DriverDefinition): DriverDefinition {
    return { ...definition, create: (context) => this.#call("create", () => definition.create(context)) };
  }

  readonly over = (driver: VirtDriver): VirtDriver =>
    new Proxy(driver, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") {
          return member;
        }
        return (...args: unknown[]): unknown =>
          this.#call(String(name), () => Reflect.apply(member, target, args) as unknown);
      },
    });

  #call<T>(method: string, work: () => T): T {
    if (this.#hung.has(method)) {
      return this.#notCalled(method) as T;
    }
    this.#calls += 1;
    const id = this.#calls;
    const back = () => this.#report({ is: "back", id });
    this.#report({ is: "call", id, method });
    let outcome: T;
    try {
      outcome = work();
    } catch (error) {
      back();
      throw error;
    }
    if (outcome instanceof Promise) {
      outcome.then(back, back);
    } else {
      back();
    }
    return outcome;
  }

  #notCalled(method: string): Promise<never> {
    if (this.#closing) {
      return Promise.reject(new Error(`${method} did not come back before`));
    }
    this.#onHung(method);
    // The rule is over; nothing of it may go on.
    return new Promise(() => {});
  }
}
