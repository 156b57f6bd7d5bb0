import type { Child, ChildExit, SpawnOptions } from "../../../../../src/runtime/processes.js";

/** A child process that the test controls. */
export class FakeChild implements Child {
  readonly pid: number;
  readonly args: readonly string[];
  readonly exited: Promise<ChildExit>;
  /** Messages of the parent. */
  readonly got: object[] = [];
  readonly #end: (exit: ChildExit) => void;
  #listener: (message: unknown) => void = () => undefined;

  constructor(pid: number, { args }: SpawnOptions) {
    this.pid = pid;
    this.args = args;
    const { promise, resolve } = withResolvers();
    this.exited = promise;
    this.#end = resolve;
  }

  onMessage(listener: (message: unknown) => void): void {
    this.#listener = listener;
  }
  release(): void {}
  signal(name: string): void {
    this.#end(name === "SIGTERM" ? { code: 0, signal: null } : { code: null, signal: name });
  }
  send(message: object): void {
    this.got.push(message);
  }
  say(message: unknown): void {
    this.#listener(message);
  }
  report(state: string, detail = "", more: object = {}): void {
    this.say({ type: "component", state, detail, ...more });
  }
  async ends(code: number | null, signal: string | null = null): Promise<void> {
    this.#end({ code, signal });
    await this.exited;
  }
}

function withResolvers() {
  let resolve: (exit: ChildExit) => void = () => undefined;
  const promise = new Promise<ChildExit>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
