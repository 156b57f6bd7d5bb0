import { describe, expect, test } from "vitest";
import { mortalRuntime } from "../../../src/runtime/killable-runtime.js";
import { Life } from "../../../src/runtime/life.js";
import { createVirtualRuntime } from "../../../src/simulation/create-virtual-runtime.js";

function begin() {
  const runtime = createVirtualRuntime({ interleave: 20 });
  const life = new Life();
  return { runtime, life, doors: mortalRuntime(runtime, life) };
}

/** Notes whether it settles. */
function watched(promise: Promise<unknown>): { settled: boolean } {
  const seen = { settled: false };
  const end = () => {
    seen.settled = true;
  };
  promise.then(end, end);
  return seen;
}

describe("the doors of a life", () => {
  test("are those of its process while it lives", async () => {
    const { runtime, doors } = begin();
    await runtime.runUntil(doors.files.write("/a", "text"));
    expect(await runtime.runUntil(doors.files.read("/a"))).toBe("text");
    await expect(runtime.runUntil(doors.files.read("/none"))).rejects.toThrow("no such file");
    let fired = 0;
    const cancel = doors.timers.after(10, () => {
      fired += 1;
    });
    doors.timers.after(20, () => {
      fired += 10;
    });
    cancel();
    await runtime.runUntil(doors.timers.sleep(30));
    expect(fired).toBe(10);
    const stop = new AbortController();
    const sleeping = doors.timers.sleep(1_000, stop.signal);
    stop.abort(new Error("enough"));
    await expect(sleeping).rejects.toThrow("enough");
    doors.logger.child({ host: "h" }).info("heard");
    expect(runtime.logs.map(({ message }) => message)).toEqual(["heard"]);
  });

  test("let nothing in or out after it: no timer, no answer, no line of the log", async () => {
    const { runtime, life, doors } = begin();
    await runtime.runUntil(doors.files.write("/folder/a", "text"));
    let fired = 0;
    const count = () => {
      fired += 1;
    };
    doors.timers.after(10, count);
    doors.files.watch("/folder", count);
    const waiting = [
      doors.timers.sleep(10),
      doors.files.read("/folder/a"),
      doors.http.request({ method: "GET", url: "http://127.0.0.1:1/" }),
      doors.http.request({ method: "GET", url: "http://127.0.0.1:1/", signal: new AbortController().signal }),
    ].map(watched);
    life.kill();
    const after = [
      doors.timers.sleep(1),
      doors.files.write("/folder/late", "text"),
      doors.files.list("/folder"),
      doors.http.request({ method: "GET", url: "http://127.0.0.1:1/" }),
    ].map(watched);
    doors.timers.after(1, count);
    doors.logger.error("a dead one speaks");
    await runtime.runUntil(runtime.files.write("/folder/b", "of another"));
    await runtime.advance(10_000);
    expect([...waiting, ...after].map(({ settled }) => settled)).toEqual(Array(8).fill(false));
    expect(fired).toBe(0);
    expect(await runtime.runUntil(runtime.files.list("/folder"))).toEqual(["a", "b"]);
    expect(runtime.logs).toEqual([]);
  });

  test("finish a file that is being written, and whoever comes next can wait for that", async () => {
    const { runtime, life, doors } = begin();
    const written = watched(doors.files.write("/a", "text"));
    life.kill();
    await runtime.runUntil(life.quiet());
    expect(await runtime.runUntil(runtime.files.read("/a"))).toBe("text");
    expect(written.settled).toBe(false);
  });

  test("cut a stream of bytes, of which nothing is kept", async () => {
    const { runtime, life, doors } = begin();
    async function* parts() {
      yield new Uint8Array([1]);
      life.kill();
      yield new Uint8Array([2]);
    }
    const written = watched(doors.files.writeBytes("/image", parts()));
    await runtime.runUntil(life.quiet());
    await runtime.advance(1_000);
    expect(await runtime.runUntil(runtime.files.stat("/image"))).toBeUndefined();
    expect(written.settled).toBe(false);
  });
});
