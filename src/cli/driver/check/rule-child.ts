import { nodeTimers } from "../../../runtime/node/node-builtins.js";
import { type Attempt, attempt, beginKilled, clearAway, lookAfterKill } from "../../../testing/attempt.js";
import { CONTRACT_CASES } from "../../../testing/cases/index.js";
import type { ContractCase } from "../../../testing/contract-case.js";
import type { HarnessWatch } from "../../../testing/driver-harness.js";
import { type CheckedSetup, openSetup, WrongSetup } from "./checked-setup.js";
import type { FromChild, Order, ToChild } from "./messages.js";
import { WatchedCalls } from "./watched-calls.js";

/** The process that `driver check` shows rules in: it does what its parent says, and ends when that ends. */
export async function checkRules(): Promise<number> {
  let setup: CheckedSetup | undefined;
  let stop = new AbortController();
  process.on("uncaughtException", (error) => die(`an error that nothing caught: ${stackOf(error)}`));
  process.on("unhandledRejection", (reason) => die(`a rejected promise that nothing caught: ${stackOf(reason)}`));
  const obey = async (message: ToChild): Promise<void> => {
    if (message.do === "stop") {
      stop.abort(new Error("interrupted"));
    } else if (message.do === "open") {
      try {
        setup = await openSetup(message.driver, message.options);
        const { driver, options } = setup;
        // What the test description sets up lives in this process, and would be killed with it.
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

/** Does one order. */
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

/** The rule needs a method that did not come back in an earlier one. */
class NotReached extends Error {
  override readonly name = "NotReached";
  readonly method: string;

  constructor(method: string) {
    super(`${method} did not come back in an earlier rule`);
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

/** The parent has it, whatever becomes of this process. */
function sendAndFlush(message: FromChild): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(message, undefined, undefined, () => resolve());
  });
}

/** As the kernel kills an agent: nothing after this line runs. */
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
