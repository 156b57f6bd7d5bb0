import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, expect, it, vi } from "vitest";
import { inTemporaryFolder } from "../../../../src/runtime/node/node-files.js";
import { createNodeRuntime } from "../../../../src/runtime/node/node-runtime.js";
import { SynchronousReads } from "../../../../src/runtime/node/synchronous-reads.js";
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
    const reader = new SynchronousReads();
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
  const reader = new SynchronousReads();
  expect(reader.stat("/")).toBeDefined();
  expect(reader.stat("/")).toBeDefined();
  expect(reader.stat("/")).toBeUndefined();
  await turn();
  expect(reader.stat("/")).toBeDefined();
});
