import { AgentStopped } from "../../agent/life/agent.js";
import { refusalOf } from "../../agent/startup/refusals.js";
import type { ControlledHost, HostState } from "../../conductor/methods/session.js";
import { ExitCode } from "../ui/exit-code.js";
import { exitCodeOf } from "../ui/report-failure.js";

/** How a host stands, and why. */
export interface HostStanding extends ControlledHost {
  /** What an agent of this host alone would have ended with; null: it has not ended. */
  readonly exitCode: number | null;
  /** Why it failed. */
  readonly error: unknown;
}

/** One life of a host. */
export interface LiveHost {
  /** From start-up to the end; never settles once it was killed. */
  run(): Promise<void>;
  stop(): void;
  /** Kills a host that has ended, too. Resolves when nothing of it is under way any more. @throws it did not come to rest */
  kill(): Promise<void>;
  reset(): void;
}

export interface PooledHostOptions {
  /** Makes a life. @throws what the host's configuration lacks */
  readonly live: (onServing: () => void) => LiveHost;
  /** Resolves when it may start. @param settled when it serves or has ended */
  readonly turn: (settled: Promise<void>) => Promise<void>;
  readonly onState: (standing: HostStanding, before: HostState) => void;
}

/** A life, and who waits for it. */
interface Run {
  readonly life: LiveHost;
  /** Its turn has come. */
  begun: boolean;
  /** It serves, or is over. */
  readonly settled: Deferred;
  readonly over: Deferred;
}

interface Deferred {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

/** One host of a process, from one life to the next; never two at a time. */
export class PooledHost {
  readonly #host: string;
  readonly #options: PooledHostOptions;
  #run: Run | null = null;
  /** Waits until nothing of the lives before is under way. */
  #rest: () => Promise<void> = async () => {};
  #standing: HostStanding;

  constructor(host: string, options: PooledHostOptions) {
    this.#host = host;
    this.#options = options;
    this.#standing = { host, state: "stopped", detail: "", exitCode: null, error: null };
  }

  get standing(): HostStanding {
    return this.#standing;
  }

  /** Null: it does not live. */
  get life(): LiveHost | null {
    return this.#run?.life ?? null;
  }

  /** Resolves when it serves, or has failed. One that drains is started when that is over. */
  async start(): Promise<void> {
    if (this.#standing.state === "stopping") {
      await this.#run?.over.promise;
    }
    if (this.#run === null) {
      this.#begin();
    }
    await this.#run?.settled.promise;
  }

  /** SIGTERM's. Resolves when it has ended. */
  async stop(): Promise<void> {
    const run = this.#run;
    if (run === null) {
      return;
    }
    if (run.begun) {
      this.#enter("stopping");
      run.life.stop();
    } else {
      this.#end(run, "stopped", null);
    }
    await run.over.promise;
  }

  /** SIGKILL's. Resolves when others can know of it, and nothing of it is under way. */
  async kill(): Promise<void> {
    const run = this.#run;
    if (run !== null) {
      const dead = run.life.kill();
      this.#end(run, "killed", null);
      await dead;
    }
    // Earlier lives of the host may still be ending.
    await this.#rest();
  }

  #begin(): void {
    this.#enter("starting");
    let life: LiveHost;
    try {
      life = this.#options.live(() => {
        if (this.#run === run) {
          this.#enter("serving");
          run.settled.resolve();
        }
      });
    } catch (error) {
      this.#failed(error);
      return;
    }
    const run: Run = { life, begun: false, settled: deferred(), over: deferred() };
    this.#run = run;
    void this.#live(run, this.#rest);
  }

  /** Never rejects. */
  async #live(run: Run, rest: () => Promise<void>): Promise<void> {
    try {
      await this.#options.turn(run.settled.promise);
      await rest();
      if (this.#run === run) {
        this.#rest = async () => {};
        run.begun = true;
        await run.life.run();
        this.#end(run, "stopped", null);
      }
    } catch (error) {
      this.#end(run, "failed", error);
    }
  }

  #end(run: Run, state: HostState, error: unknown): void {
    if (this.#run === run) {
      this.#run = null;
      const rest = this.#rest;
      this.#rest = async () => {
        await rest();
        await run.life.kill();
      };
      if (state === "failed" && !(error instanceof AgentStopped)) {
        this.#failed(error);
      } else {
        this.#enter(state === "failed" ? "stopped" : state, { exitCode: state === "killed" ? null : ExitCode.ok });
      }
    }
    run.settled.resolve();
    run.over.resolve();
  }

  #failed(error: unknown): void {
    const detail = error instanceof Error ? error.message : String(error);
    const exitCode = refusalOf(error) === null ? exitCodeOf(error) : ExitCode.refused;
    this.#enter("failed", { detail, exitCode, error });
  }

  #enter(state: HostState, more: Partial<HostStanding> = {}): void {
    const before = this.#standing.state;
    this.#standing = { host: this.#host, state, detail: "", exitCode: null, error: null, ...more };
    this.#options.onState(this.#standing, before);
  }
}

function deferred(): Deferred {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
