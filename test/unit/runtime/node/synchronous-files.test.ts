import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, expect, it, vi } from "vitest";
import { inTemporaryFolder } from "../../../../src/runtime/node/node-files.js";
import { createNodeRuntime } from "../../../../src/runtime/node/node-runtime.js";
import { SynchronousFiles } from "../../../../src/runtime/node/synchronous-files.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

const runtime = createNodeRuntime({ logger: createVirtualRuntime().logger });

afterEach(() => vi.restoreAllMocks());

it("reads a small file synchronously, and leaves large ones, folders and pipes to a thread", async () => {
  vi.spyOn(performance, "now").mockReturnValue(0);
  await inTemporaryFolder(runtime, "looks", async (folder) => {
    const { files } = runtime;
    await files.write(join(folder, "small"), "running\n");
    await files.write(join(folder, "large"), "x".repeat(65 * 1024));
    execFileSync("mkfifo", [join(folder, "pipe")]);
    const reader = new SynchronousFiles();
    expect(reader.read(join(folder, "small"))).toEqual({ found: "running\n" });
    expect(reader.read(join(folder, "absent"))).toEqual({ found: undefined });
    expect(reader.list(join(folder, "absent"))).toEqual({ found: undefined });
    for (const name of ["large", "pipe", "."]) {
      expect(reader.read(join(folder, name)), name).toBeUndefined();
    }
    expect(reader.list(folder)?.found?.toSorted()).toEqual(["large", "pipe", "small"]);
  });
});

it("reads for one time slice per tick, however slow the disk is", async () => {
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => {
    now += 6;
    return now;
  });
  const reader = new SynchronousFiles();
  expect(reader.stat("/")).toBeDefined();
  expect(reader.stat("/")).toBeDefined();
  expect(reader.stat("/")).toBeUndefined();
  await turn();
  expect(reader.stat("/")).toBeDefined();
});

it("changes for one time slice per tick, and then in a thread", async () => {
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => {
    now += 6;
    return now;
  });
  const files = new SynchronousFiles();
  const change = () =>
    files.change(
      () => "here",
      async () => "in a thread",
    );
  expect(await Promise.all([change(), change(), change()])).toEqual(["here", "here", "in a thread"]);
  await turn();
  expect(await change()).toBe("here");
});

it("writes the same when the slice is used up, and reports the same errors", async () => {
  await inTemporaryFolder(runtime, "writes", async (folder) => {
    for (const slow of [false, true]) {
      let now = 0;
      vi.spyOn(performance, "now").mockImplementation(() => {
        now += slow ? 20 : 0;
        return now;
      });
      const files = createNodeRuntime({ logger: createVirtualRuntime().logger }).files;
      const path = join(folder, String(slow), "deep", "file");
      await files.create(path, "one");
      await files.append(path, " two");
      await files.rename(path, `${path}-renamed`);
      await files.write(path, "three", { mode: 0o600 });
      expect(await files.read(`${path}-renamed`)).toBe("one two");
      expect(await files.stat(path)).toMatchObject({ kind: "file", bytes: 5, mode: 0o600 });
      await expect(files.create(path, "four")).rejects.toMatchObject({ code: "EEXIST" });
      await expect(files.rename(join(folder, "absent"), path)).rejects.toMatchObject({ code: "ENOENT" });
      await files.remove(join(folder, String(slow)));
      expect(await files.stat(join(folder, String(slow)))).toBeUndefined();
      expect(await files.list(folder)).toEqual([]);
      vi.restoreAllMocks();
    }
  });
});
