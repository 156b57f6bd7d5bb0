import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { createNodeRuntime } from "../../../../src/runtime/node/node-runtime.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

const { timers, clock, random, processes } = createNodeRuntime({ logger: createVirtualRuntime().logger });

describe("the Node runtime", () => {
  it("timers sleep, cancel and abort", async () => {
    const before = clock.monotonic();
    await timers.sleep(5);
    expect(clock.monotonic()).toBeGreaterThan(before);
    const controller = new AbortController();
    const sleeping = timers.sleep(3_600_000, controller.signal);
    controller.abort(new Error("stop"));
    await expect(sleeping).rejects.toThrow("stop");
    await expect(timers.sleep(1, controller.signal)).rejects.toThrow("stop");
  });

  it("timers do not fire immediately for a delay above the max of setTimeout", async () => {
    let fired = false;
    const cancel = timers.after(2 ** 40, () => {
      fired = true;
    });
    await timers.sleep(5);
    cancel();
    expect(fired).toBe(false);
  });

  it("random values have the right form", () => {
    expect(random.uuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(random.hex(16)).toMatch(/^[0-9a-f]{32}$/);
    expect(new Set(Array.from({ length: 1_000 }, () => random.hex(16))).size).toBe(1_000);
    expect(random.hex(5_000)).toHaveLength(10_000);
    expect(new Set(Array.from({ length: 200 }, () => random.integer(3, 5)))).toEqual(new Set([3, 4, 5]));
  });

  it("processes are distinguished as alive or dead", async () => {
    expect(processes.isAlive(processes.pid)).toBe(true);
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    await once(child, "spawn");
    const pid = child.pid ?? 0;
    expect(processes.isAlive(pid)).toBe(true);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(processes.isAlive(pid)).toBe(false);
    expect(processes.machine.startsWith(`${processes.hostname}:`)).toBe(true);
    // Systems other than Linux have no namespaces.
    expect(processes.machine).toMatch(process.platform === "linux" ? /:\d+$/ : /:unknown-namespace$/);
  });

  it("a process that was not reaped counts as dead", async () => {
    // sh starts a child and replaces itself with cat, which never waits for it: the child remains as a zombie.
    const parent = spawn("/bin/sh", ["-c", "sleep 60 & echo $!; exec cat"]);
    const [line] = await once(parent.stdout, "data");
    const pid = Number(String(line));
    // A shell would reap the child. The echo proves that the process is cat by now.
    parent.stdin.write("cat");
    await once(parent.stdout, "data");
    process.kill(pid, "SIGKILL");
    while (processes.isAlive(pid)) {
      await timers.sleep(1);
    }
    process.kill(pid, 0);
    parent.kill("SIGKILL");
    await once(parent, "exit");
  });
});
