import { describe, expect, test } from "vitest";
import { createKillableRuntime } from "../../../src/runtime/killable-runtime.js";
import { Lifetime } from "../../../src/runtime/lifetime.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";

function begin() {
  const runtime = createVirtualRuntime({ interleave: 20 });
  const life = new Lifetime();
  return { runtime, life, killableRuntime: createKillableRuntime(runtime, life) };
}

/** Records whether a promise settles. */
function watched(promise: Promise<unknown>): { settled: boolean } {
  const state = { settled: false };
  const end = () => {
    state.settled = true;
  };
  promise.then(end, end);
  return state;
}

describe("a killable runtime", () => {
  test("behaves like its process's runtime before the kill", async () => {
    const { runtime, killableRuntime } = begin();
    await runtime.runUntil(killableRuntime.files.write("/a", "text"));
    expect(await runtime.runUntil(killableRuntime.files.read("/a"))).toBe("text");
    await expect(runtime.runUntil(killableRuntime.files.read("/none"))).rejects.toThrow("no such file");
    let fired = 0;
    const cancel = killableRuntime.timers.after(10, () => {
      fired += 1;
    });
    killableRuntime.timers.after(20, () => {
      fired += 10;
    });
    cancel();
    await runtime.runUntil(killableRuntime.timers.sleep(30));
    expect(fired).toBe(10);
    const stop = new AbortController();
    const sleeping = killableRuntime.timers.sleep(1_000, stop.signal);
    stop.abort(new Error("enough"));
    await expect(sleeping).rejects.toThrow("enough");
    killableRuntime.logger.child({ host: "h" }).info("heard");
    expect(runtime.logs.map(({ message }) => message)).toEqual(["heard"]);
  });

  test("lets nothing in or out after the kill: no timer, no response, no log line", async () => {
    const { runtime, life, killableRuntime } = begin();
    await runtime.runUntil(killableRuntime.files.write("/folder/a", "text"));
    let fired = 0;
    const count = () => {
      fired += 1;
    };
    killableRuntime.timers.after(10, count);
    killableRuntime.files.watch("/folder", count);
    const waiting = [
      killableRuntime.timers.sleep(10),
      killableRuntime.files.read("/folder/a"),
      killableRuntime.http.request({ method: "GET", url: "http://127.0.0.1:1/" }),
      killableRuntime.http.request({ method: "GET", url: "http://127.0.0.1:1/", signal: new AbortController().signal }),
    ].map(watched);
    life.kill();
    const after = [
      killableRuntime.timers.sleep(1),
      killableRuntime.files.write("/folder/late", "text"),
      killableRuntime.files.list("/folder"),
      killableRuntime.http.request({ method: "GET", url: "http://127.0.0.1:1/" }),
    ].map(watched);
    killableRuntime.timers.after(1, count);
    killableRuntime.logger.error("a dead one speaks");
    await runtime.runUntil(runtime.files.write("/folder/b", "of another"));
    await runtime.advance(10_000);
    expect([...waiting, ...after].map(({ settled }) => settled)).toEqual(Array(8).fill(false));
    expect(fired).toBe(0);
    expect(await runtime.runUntil(runtime.files.list("/folder"))).toEqual(["a", "b"]);
    expect(runtime.logs).toEqual([]);
  });

  test("completes a file that is being written, and allows waiting for that", async () => {
    const { runtime, life, killableRuntime } = begin();
    const written = watched(killableRuntime.files.write("/a", "text"));
    life.kill();
    await runtime.runUntil(life.quiet());
    expect(await runtime.runUntil(runtime.files.read("/a"))).toBe("text");
    expect(written.settled).toBe(false);
  });

  test("cuts off a stream of bytes, of which nothing is stored", async () => {
    const { runtime, life, killableRuntime } = begin();
    async function* parts() {
      yield new Uint8Array([1]);
      life.kill();
      yield new Uint8Array([2]);
    }
    const written = watched(killableRuntime.files.writeBytes("/image", parts()));
    await runtime.runUntil(life.quiet());
    await runtime.advance(1_000);
    expect(await runtime.runUntil(runtime.files.stat("/image"))).toBeUndefined();
    expect(written.settled).toBe(false);
  });
});
