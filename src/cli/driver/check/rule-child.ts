import { nodeTimers } from "../../../runtime/node/node-builtins.js";
import { type Attempt, attempt, beginKilled, clearAway, lookAfterKill } from "../../../testing/attempt.js";
import { CONTRACT_CASES } from "../../../testing/cases/index.js";
import type { ContractCase } from "../../../testing/contract-case.js";
import type { HarnessWatch } from "../../../testing/driver-harness.js";
import type { DriverDefinition, VirtDriver } from "../../../virt/index.js";
import type { FromChild, Order, ToChild } from "../rule-process.js";
import { type CheckedSetup, openSetup, WrongSetup } from "./checked-setup.js";

/** Reports the beginning and end of each call of the author's methods, so that the parent knows the current one. */
class WatchedCalls {
  readonly #report: (message: FromChild) => void;
  readonly #hung: ReadonlySet<string>;
  readonly #onHung: (method: string) => void;
  #closing = false;
  #calls = 0;

  /** @param onHung called instead of a method in `hung` */
  constructor(report: (message: FromChild) => void, hung: readonly string[], onHung: (method: string) => void) {
    this.#report = report;
    this.#hung = new Set(hung);
    this.#onHung = onHung;
  }

  /** Rejects calls of hanging methods from now on. */
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
      return Promise.reject(new Error(`${method} did not return before`));
    }
    this.#onHung(method);
    // The rule has ended, so its caller must not continue.
    return new Promise(() => {});
  }
}

/** Runs rules for the parent process `driver check`, and exits with it. */
export async function checkRules(): Promise<number> {
  let setup: CheckedSetup | undefined;
  let stop = new AbortController();
  process.on("uncaughtException", (error) => die(`an uncaught error: ${stackOf(error)}`));
  process.on("unhandledRejection", (reason) => die(`an unhandled promise rejection: ${stackOf(reason)}`));
  const obey = async (message: ToChild): Promise<void> => {
    if (message.do === "stop") {
      stop.abort(new Error("interrupted"));
    } else if (message.do === "open") {
      try {
        setup = await openSetup(message.driver, message.options);
        const { driver, options } = setup;
        // Resources of the test description's setUp belong to this process, and would be killed with it.
        const kills = options.setUp === undefined;
        const canary = options.canary !== undefined;
        send({ is: "opened", driver: driver.name, apiVersion: driver.apiVersion, kills, canary });
      } catch (error) {
        send({ is: "refused", message: error instanceof WrongSetup ? error.message : stackOf(error) });
      }
    } else if (setup !== undefined) {
      stop = new AbortController();
      await new Worker(setup, stop).do(message);
    }
  };
  return new Promise((resolve) => {
    process.on("message", (message) => void obey(message as ToChild));
    process.on("disconnect", () => resolve(0));
  });
}

/** Executes one order. */
class Worker {
  readonly #setup: CheckedSetup;
  readonly #stop: AbortController;

  constructor(setup: CheckedSetup, stop: AbortController) {
    this.#setup = setup;
    this.#stop = stop;
  }

  async do(order: Order): Promise<void> {
    const { driver, options, verbose } = this.#setup;
    const hung = order.do === "clear" ? [] : order.hung;
    const calls = new WatchedCalls(send, hung, (method) => this.#stop.abort(new NotReached(method)));
    const definition = calls.definition(driver);
    const { signal } = this.#stop;
    const watch: HarnessWatch = {
      over: calls.over,
      onClose: () => calls.close(),
      onPlaced: (memory) => send({ is: "placed", memory }),
      ...(verbose ? { onLog: (host, level, text) => void process.stderr.write(`${host} ${level} ${text}\n`) } : {}),
      ...("memory" in order && order.memory !== null ? { memory: order.memory } : {}),
    };
    const around = { folder: order.folder, signal, watch };
    switch (order.do) {
      case "clear":
        return void send({ is: "cleared", found: await clearAway(definition, options, around) });
      case "rule":
        return this.#done(await attempt(definition, ruleOf(order.code), options, around));
      case "look":
        return this.#done(await lookAfterKill(definition, ruleOf(order.code), options, around, order));
      case "begin": {
        const { kill } = order;
        const call = typeof kill === "object" && "call" in kill ? kill.call : null;
        const early = await beginKilled(definition, ruleOf(order.code), options, around, {
          call,
          strike: killed,
          begun: async (subject, memory) => {
            await sendAndFlush({ is: "begun", subject, memory });
            if (typeof kill === "object" && "after" in kill) {
              nodeTimers().after(kill.after, killed);
            }
          },
        });
        return early === null ? killed() : this.#done(early);
      }
    }
  }

  #done(result: Attempt): void {
    const { reason } = this.#stop.signal;
    send({ is: "done", attempt: result, unreached: reason instanceof NotReached ? reason.method : null });
  }
}

/** The rule needs a method that did not return in an earlier rule. */
class NotReached extends Error {
  override readonly name = "NotReached";
  readonly method: string;

  constructor(method: string) {
    super(`${method} did not return in an earlier rule`);
    this.method = method;
  }
}

function ruleOf(code: string): ContractCase {
  const found = CONTRACT_CASES.find((each) => each.code === code);
  if (found === undefined) {
    throw new Error(`there is no rule ${code}`);
  }
  return found;
}

function send(message: FromChild): void {
  process.send?.(message);
}

/** Resolves once the parent has received the message, so that this process may end. */
function sendAndFlush(message: FromChild): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(message, undefined, undefined, () => resolve());
  });
}

/** Kills this process as the kernel kills an agent: no code after this runs. */
function killed(): void {
  process.kill(process.pid, "SIGKILL");
}

function die(text: string): void {
  void sendAndFlush({ is: "fatal", text }).then(killed);
}

function stackOf(error: unknown): string {
  if (!(error instanceof Error)) {
    return String(error);
  }
  const place = /^ +at .*$/m.exec(error.stack ?? "")?.[0]?.trim();
  return `${error.name}: ${error.message}${place === undefined ? "" : ` (${place})`}`;
}
