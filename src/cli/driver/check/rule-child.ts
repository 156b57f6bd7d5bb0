import { nodeTimers } from "../../../runtime/node/node-builtins.js";
import { type Attempt, attempt, beginKilled, clearAway, lookAfterKill } from "../../../testing/attempt.js";
import { CONTRACT_CASES } from "../../../testing/cases/index.js";
import type { ContractCase } from "../../../testing/contract-case.js";
import type { HarnessWatch } from "../../../testing/driver-harness.js";
import type { DriverDefinition, VirtDriver } from "../../../virt/index.js";
import { CommandError } from "../../ui/exit-code.js";
import type { FromChild, Order, ToChild } from "../rule-process.js";
import { type CheckedSetup, openSetup } from "./checked-setup.js";

/** Reports the beginning and end of each call of the author's methods, so that the parent knows the current one. */
class WatchedCalls {
  readonly #hung: ReadonlySet<string>;
  readonly #onHung: (method: string) => void;
  #closing = false;
  #calls = 0;

  /** @param onHung called instead of a method in `hung` */
  constructor(hung: readonly string[], onHung: (method: string) => void) {
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
    const back = () => send({ is: "back", id });
    send({ is: "call", id, method });
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
        send({ is: "refused", message: error instanceof CommandError ? error.message : stackOf(error) });
      }
    } else if (setup !== undefined) {
      stop = new AbortController();
      await execute(setup, stop, message);
    }
  };
  return new Promise((resolve) => {
    process.on("message", (message) => void obey(message as ToChild));
    process.on("disconnect", () => resolve(0));
  });
}

/** Executes one order. */
async function execute({ driver, options, verbose }: CheckedSetup, stop: AbortController, order: Order): Promise<void> {
  /** The method that the rule needs, and that did not return in an earlier rule. */
  let unreached: string | null = null;
  const calls = new WatchedCalls(order.do === "clear" ? [] : order.hung, (method) => {
    unreached ??= stop.signal.aborted ? null : method;
    stop.abort(new Error(`${method} did not return in an earlier rule`));
  });
  const done = (attempt: Attempt) => send({ is: "done", attempt, unreached });
  const definition = calls.definition(driver);
  const watch: HarnessWatch = {
    over: calls.over,
    onClose: () => calls.close(),
    onPlaced: (memory) => send({ is: "placed", memory }),
    ...(verbose ? { onLog: (host, level, text) => void process.stderr.write(`${host} ${level} ${text}\n`) } : {}),
    ...("memory" in order && order.memory !== null ? { memory: order.memory } : {}),
  };
  const around = { folder: order.folder, signal: stop.signal, watch };
  switch (order.do) {
    case "clear":
      return send({ is: "cleared", found: await clearAway(definition, options, around) });
    case "rule":
      return done(await attempt(definition, ruleOf(order.code), options, around));
    case "look":
      return done(await lookAfterKill(definition, ruleOf(order.code), options, around, order));
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
      return early === null ? killed() : done(early);
    }
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
