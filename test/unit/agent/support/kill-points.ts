import type { Harness, Run } from "./harness.js";

/**
 * Kills an agent at its `at`-th step: after each reply of the conductor (before the next action), after each request
 * that Placement processed (the response is lost), and after each action of the driver.
 */
export class KillPoint {
  #left: number;
  #run: Run | null = null;
  #step: string | null = null;

  constructor(harness: Harness, host: string, at: number) {
    this.#left = at;
    const hit = (who: string, step: string): void => {
      if (who !== host || this.#run === null || this.#step !== null) {
        return;
      }
      this.#left -= 1;
      if (this.#left < 0) {
        this.#step = step;
        this.#run.runtime.kill();
      }
    };
    harness.afterCall = (who, method) => hit(who, `after ${method}`);
    harness.afterPlacement = (who, request) => hit(who, `after ${request}`);
    for (const [name, hypervisor] of harness.hypervisors) {
      const record = hypervisor.onCall;
      hypervisor.onCall = (call) => {
        record(call);
        hit(call.host, `during ${call.method} on ${name}`);
      };
    }
  }

  arm(run: Run): void {
    this.#run = run;
  }

  /** The step of the kill; null: the agent completed. */
  get struck(): string | null {
    return this.#step;
  }
}
