import { describe, expect, it } from "vitest";
import { LastingChildren } from "../../../../src/control-plane/local/lasting-children.js";
import type { SpawnOptions } from "../../../../src/runtime/processes.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { FakeChild } from "./support/fake-child.js";

const WORK: SpawnOptions = { module: "/agent.js", args: ["--host", "h1"], logFile: "/logs/h1.log" };
const OTHER: SpawnOptions = { ...WORK, args: ["--host", "h[1-2]"] };

function createHarness() {
  const runtime = createVirtualRuntime();
  const processes: FakeChild[] = [];
  const spawn = (options: SpawnOptions): FakeChild => {
    const child = new FakeChild(100 + processes.length, options);
    processes.push(child);
    return child;
  };
  return { runtime, processes, children: new LastingChildren({ spawn }, runtime.timers) };
}

describe("reusable child processes", () => {
  it("get other work when idle, and report to its owner", async () => {
    const { processes, children } = createHarness();
    const first = children.spawn(WORK);
    const messages: unknown[] = [];
    first.onMessage((message) => messages.push(message));
    const { exited } = first;
    const rested = first.rest();
    expect(processes[0]?.got).toEqual([{ type: "rest" }]);
    processes[0]?.say("of the work that ends");
    processes[0]?.say({ type: "resting" });
    expect(await rested).toBe(true);
    const second = children.spawn(OTHER);
    expect(second.pid).toBe(first.pid);
    // A shared promise would retain waiters of the first work item for the process's lifetime.
    expect(second.exited).not.toBe(exited);
    expect(processes[0]?.got.at(-1)).toEqual({ type: "go-on", args: OTHER.args });
    second.onMessage((message) => messages.push(message));
    processes[0]?.say("of the other work");
    expect(messages).toEqual(["of the other work"]);
    await processes[0]?.ends(1);
    expect(await second.exited).toEqual({ code: 1, signal: null });
    expect(processes).toHaveLength(1);
  });

  it("are not reused for another program or another log", async () => {
    const { processes, children } = createHarness();
    const rested = children.spawn(WORK).rest();
    processes[0]?.say({ type: "resting" });
    await rested;
    children.spawn({ ...WORK, logFile: "/logs/h2.log" });
    children.spawn({ ...WORK, module: "/cluster.js" });
    expect(processes).toHaveLength(3);
  });

  it("are killed when they do not become idle in time, as after a stop", async () => {
    const { runtime, processes, children } = createHarness();
    const rested = children.spawn(WORK).rest();
    await runtime.advance(10_000);
    expect(await rested).toBe(false);
    expect(await processes[0]?.exited).toEqual({ code: null, signal: "SIGKILL" });
    children.spawn(WORK);
    expect(processes).toHaveLength(2);
  });

  it("are started again if they died while idle", async () => {
    const { processes, children } = createHarness();
    const rested = children.spawn(WORK).rest();
    processes[0]?.say({ type: "resting" });
    await rested;
    await processes[0]?.ends(null, "SIGKILL");
    expect(children.spawn(WORK).pid).toBe(101);
  });

  it("end if they are not reused", async () => {
    const { processes, children } = createHarness();
    const rested = children.spawn(WORK).rest();
    processes[0]?.say({ type: "resting" });
    await rested;
    await children.end();
    expect(await processes[0]?.exited).toEqual({ code: null, signal: "SIGKILL" });
  });
});
