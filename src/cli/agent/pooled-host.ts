import { AgentStopped } from "../../agent/lifecycle/agent.js";
import { toStartupRejection } from "../../agent/rejections.js";
import type { ControlledHost, HostState } from "../../conductor-client/methods/session.js";
import { SparseSet } from "../../runtime/collections.js";
import { ExitCode } from "../ui/exit-code.js";
import { exitCodeOf } from "../ui/report-failure.js";

/** How a host stands, and why. */
export interface AgentHostStatus extends ControlledHost {
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

/** The same for all hosts of a process. */
export interface PooledHostOptions {
  /** Makes a life. @throws what the host's configuration lacks */
  readonly live: (host: string, onServing: () => void) => LiveHost;
  /** Resolves when it may start. @param settled when it serves or has ended */
  readonly turn: (settled: Promise<void>) => Promise<void>;
  readonly onState: (status: AgentHostStatus, before: HostState) => void;
}

interface Run {
  readonly life: LiveHost;
  /** Its turn has come. */
  begun: boolean;
  /** It has served. */
  served: boolean;
}

/** One host of a process, from one life to the next; never two at a time. */
export class PooledHost {
  readonly #host: string;
  readonly #options: PooledHostOptions;
  #run: Run | null = null;
  /** Waits until nothing of the lives before is under way. */
  #rest: () => Promise<void> = atRest;
  #status: AgentHostStatus;
  /** What the next change calls, once each. */
  readonly #waiting = new SparseSet<() => void>();

  constructor(host: string, options: PooledHostOptions) {
    this.#host = host;
    this.#options = options;
    this.#status = { host, state: "stopped", detail: "", exitCode: null, error: null };
  }

  get status(): AgentHostStatus {
    return this.#status;
  }

  /** Null: it does not live. */
  get life(): LiveHost | null {
    return this.#run?.life ?? null;
  }

  /** Resolves when it serves, or has failed. One that drains is started when that is over. */
  async start(): Promise<void> {
    if (this.#status.state === "stopping") {
      await this.#over(this.#run);
    }
    if (this.#run === null) {
      this.#begin();
    }
    await this.#settled(this.#run);
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
    await this.#over(run);
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
      life = this.#options.live(this.#host, () => {
        if (this.#run === run) {
          run.served = true;
          this.#enter("serving");
        }
      });
    } catch (error) {
      this.#failed(error);
      return;
    }
    const run: Run = { life, begun: false, served: false };
    this.#run = run;
    void this.#live(run);
  }

  /** Never rejects. */
  async #live(run: Run): Promise<void> {
    try {
      await this.#options.turn(this.#settled(run));
      await this.#rest();
      if (this.#run === run) {
        this.#rest = atRest;
        run.begun = true;
        await run.life.run();
        this.#end(run, "stopped", null);
      }
    } catch (error) {
      this.#end(run, "failed", error);
    }
  }

  #end(run: Run, state: HostState, error: unknown): void {
    if (this.#run !== run) {
      return;
    }
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

  #failed(error: unknown): void {
    const detail = error instanceof Error ? error.message : String(error);
    const exitCode = toStartupRejection(error) === null ? exitCodeOf(error) : ExitCode.rejected;
    this.#enter("failed", { detail, exitCode, error });
  }

  #enter(state: HostState, more: Partial<AgentHostStatus> = {}): void {
    const before = this.#status.state;
    this.#status = { host: this.#host, state, detail: "", exitCode: null, error: null, ...more };
    this.#options.onState(this.#status, before);
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const look of waiting) {
      look();
    }
  }

  /** Resolves when that run is over. */
  async #over(run: Run | null): Promise<void> {
    while (run !== null && this.#run === run) {
      await this.#change();
    }
  }

  /** Resolves when that run serves, or is over. */
  async #settled(run: Run | null): Promise<void> {
    while (run !== null && this.#run === run && !run.served) {
      await this.#change();
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
    });
  }
}

async function atRest(): Promise<void> {}
