import {
  type ObservedProcess,
  type ProcessIdentity,
  ProgramFailure,
  type ProgramResult,
  type ProgramSignal,
  type Programs,
  type RunOptions,
  type StartOptions,
} from "../runtime/processes.js";
import type { VirtualMachine } from "./virtual-machine.js";
import type { VirtualProcess } from "./virtual-process.js";

/** Gives a simulated process access to the programs of its machine, which outlive it. */
export class VirtualPrograms implements Programs {
  readonly #process: VirtualProcess;

  constructor(process: VirtualProcess) {
    this.#process = process;
  }

  start(options: StartOptions): Promise<ProcessIdentity> {
    return this.#process.withLatency(() => this.#launch(options).identity);
  }

  async run(options: RunOptions): Promise<ProgramResult> {
    options.signal?.throwIfAborted();
    return this.#process.whileAlive(async () => {
      const running = this.#launch(options);
      const kill = () => running.end(null);
      options.signal?.addEventListener("abort", kill, { once: true });
      await running.ended;
      options.signal?.removeEventListener("abort", kill);
      options.signal?.throwIfAborted();
      return { code: running.code, stdout: running.stdout, stderr: "" };
    });
  }

  look(pid: number): Promise<ObservedProcess | undefined> {
    return this.#process.withLatency(() => {
      const running = this.#machine.programs.running(pid);
      return running && { ...running.identity, argv: running.argv };
    });
  }

  signal(process: ProcessIdentity, signal: ProgramSignal): Promise<boolean> {
    return this.#process.withLatency(() => {
      const running = this.#find(process);
      running?.signalled(signal);
      return running !== undefined;
    });
  }

  async ended(process: ProcessIdentity, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    return this.#process.whileAlive(
      () =>
        new Promise<void>((resolve, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
          const running = this.#find(process);
          (running?.ended ?? Promise.resolve()).then(resolve);
        }),
    );
  }

  get #machine(): VirtualMachine {
    return this.#process.machine;
  }

  #find({ pid, started }: ProcessIdentity) {
    const running = this.#machine.programs.running(pid);
    return running?.identity.started === started ? running : undefined;
  }

  #launch({ argv, cwd }: Pick<StartOptions, "argv" | "cwd">) {
    const [name = ""] = argv;
    const running = this.#machine.programs.launch({
      argv,
      cwd: cwd ?? "/",
      pid: this.#machine.startProcess(),
      boot: this.#machine.identity,
    });
    if (running) {
      void running.ended.then(() => this.#machine.endProcess(running.identity.pid));
      return running;
    }
    throw new ProgramFailure(`start ${name}`, "ENOENT");
  }
}
