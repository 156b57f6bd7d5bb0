import { describe, expect, it } from "vitest";
import type { ComponentStatus } from "../../../../src/cluster/local/component.js";
import { stateDir } from "../../../../src/cluster/local/state-dir.js";
import { Supervisor } from "../../../../src/cluster/local/supervisor.js";
import type { Child, ChildExit, SpawnOptions } from "../../../../src/runtime/children.js";
import { createVirtualRuntime } from "../../../../src/simulation/create-virtual-runtime.js";

/** A process that does what the test says. */
class FakeChild implements Child {
  readonly pid: number;
  readonly args: readonly string[];
  readonly exited: Promise<ChildExit>;
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
  signal(name: string): void {
    this.#end(name === "SIGTERM" ? { code: 0, signal: null } : { code: null, signal: name });
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

function lab(hosts: readonly string[] = ["h1"], options: { readonly inOrder?: boolean } = {}) {
  const runtime = createVirtualRuntime();
  const children: FakeChild[] = [];
  const seen: ComponentStatus[] = [];
  const supervisor = new Supervisor({
    ...options,
    directory: stateDir("/cluster", "/"),
    hosts,
    programs: { cluster: "/cluster.js", agent: "/agent.js" },
    agentArgs: [],
    controlPlaneArgs: [],
    onStatus: (status) => seen.push(status),
    children: {
      spawn: (given) => {
        const child = new FakeChild(100 + children.length, given);
        children.push(child);
        return child;
      },
    },
    timers: runtime.timers,
    clock: runtime.clock,
  });
  const of = (name: string) => {
    const found = children.findLast(({ args }) => (name === "control-plane" ? args[0] === name : args[1] === name));
    if (found === undefined) {
      throw new Error(`${name} was not started`);
    }
    return found;
  };
  const status = (name: string) => supervisor.statuses.find((each) => each.name === name);
  /** Everything ready. */
  const up = async () => {
    const started = supervisor.start();
    of("control-plane").report("ready", "http://127.0.0.1:1", { url: "http://127.0.0.1:1" });
    await runtime.advance(0);
    for (const host of hosts) {
      of(host).report("ready", `pid ${of(host).pid}`);
    }
    expect(await started).toBe(true);
  };
  return { runtime, supervisor, children, seen, of, status, up };
}

describe("a supervisor", () => {
  it("tells why the control plane refuses to start, with its exit code, and does not try again", async () => {
    const { supervisor, children, of } = lab();
    const started = supervisor.start();
    of("control-plane").report("failed", "port 8774 is taken");
    await of("control-plane").ends(2);
    expect(await supervisor.controlPlaneEnded()).toMatchObject({
      state: "failed",
      detail: "port 8774 is taken",
      exitCode: 2,
    });
    expect(await started).toBe(false);
    expect(children).toHaveLength(1);
  });

  it("starts a control plane again that was up, whatever ended it, until it ends too often", async () => {
    const { supervisor, children, of, up, runtime } = lab([]);
    await up();
    for (let times = 0; times < 5; times += 1) {
      await of("control-plane").ends(null, "SIGKILL");
      await runtime.advance(0);
    }
    expect(children).toHaveLength(6);
    await of("control-plane").ends(1);
    expect((await supervisor.controlPlaneEnded()).exitCode).toBe(1);
  });

  it("starts an agent again that failed unforeseen, later each time, and says why and when", async () => {
    const { children, of, status, up, runtime } = lab();
    await up();
    of("h1").report("failed", "the driver lost its mind");
    await of("h1").ends(1);
    await runtime.advance(0);
    expect(status("h1")).toMatchObject({
      state: "restarting",
      detail: "starts again in 1 s, for it ended: the driver lost its mind",
    });
    await runtime.advance(1_000);
    expect(status("h1")).toMatchObject({ state: "starting", detail: `pid ${of("h1").pid}; started again` });
    await of("h1").ends(null, "SIGSEGV");
    await runtime.advance(0);
    expect(status("h1")?.detail).toBe("starts again in 2 s, for it ended: SIGSEGV");
    expect(children).toHaveLength(3);
    await runtime.advance(2_000);
    of("h1").report("ready");
    await runtime.advance(60_000);
    await of("h1").ends(1);
    await runtime.advance(0);
    expect(status("h1")?.detail).toMatch(/^starts again in 1 s/);
  });

  it.each([
    ["refuses to start", 3, null, "failed"],
    ["has wrong options", 2, null, "failed"],
    ["lost its host to another", 5, null, "failed"],
    ["is killed by somebody", null, "SIGKILL", "killed"],
    ["is told to stop by somebody", 0, null, "stopped"],
  ] as const)("leaves an agent alone that %s", async (_what, code, signal, state) => {
    const { children, of, status, up, runtime } = lab();
    await up();
    await of("h1").ends(code, signal);
    await runtime.advance(600_000);
    expect(status("h1")?.state).toBe(state);
    expect(children).toHaveLength(2);
  });

  it("shows a killed host as serving once another agent has it, and as stopped when that one is gone", async () => {
    const { of, status, up, runtime } = lab();
    await up();
    const holds = (pid: number | null) => of("control-plane").say({ type: "host", host: "h1", pid });
    holds(of("h1").pid);
    await of("h1").ends(null, "SIGKILL");
    holds(null);
    await runtime.advance(0);
    expect(status("h1")).toMatchObject({ state: "killed", detail: "SIGKILL" });
    holds(4711);
    expect(status("h1")).toMatchObject({ state: "ready", detail: "pid 4711, started elsewhere" });
    holds(null);
    expect(status("h1")).toMatchObject({
      state: "stopped",
      detail: "pid 4711, which was started elsewhere, has ended",
    });
  });

  it("does not start an agent again whose host another one has taken meanwhile", async () => {
    const { children, of, status, up, runtime } = lab();
    await up();
    await of("h1").ends(1);
    await runtime.advance(0);
    of("control-plane").say({ type: "host", host: "h1", pid: 4711 });
    await runtime.advance(600_000);
    expect(children).toHaveLength(2);
    expect(status("h1")?.state).toBe("ready");
  });

  it("starts nothing more once it is stopped, neither the next agent nor one that waits for its restart", async () => {
    const first = lab(["h1", "h2"], { inOrder: true });
    const started = first.supervisor.start();
    first.of("control-plane").report("ready", "", { url: "http://127.0.0.1:1" });
    await first.runtime.advance(0);
    expect(first.children).toHaveLength(2);
    await first.supervisor.stop();
    expect(await started).toBe(false);
    expect(first.children).toHaveLength(2);

    const second = lab();
    await second.up();
    await second.of("h1").ends(1);
    await second.runtime.advance(0);
    await second.supervisor.stop();
    await second.runtime.advance(600_000);
    expect(second.children).toHaveLength(2);
    expect(second.status("h1")?.state).toBe("stopped");
  });
});
