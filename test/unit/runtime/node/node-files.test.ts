import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { inTemporaryFolder } from "../../../../src/runtime/node/node-files.js";
import { createNodeRuntime } from "../../../../src/runtime/node/node-runtime.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

const runtime = createNodeRuntime({ logger: createVirtualRuntime().logger });

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

describe("a file system without hard links", () => {
  it.each(["EPERM", "ENOTSUP"])("%s: a file is created only once as well", async (code) => {
    vi.spyOn(fs, "link").mockRejectedValue(Object.assign(new Error("no links here"), { code }));
    syncBuiltinESMExports();
    await inTemporaryFolder(runtime, "files", async (folder) => {
      const { files } = runtime;
      const path = join(folder, "once");
      await files.create(path, "first", { mode: 0o600 });
      await expect(files.create(path, "second")).rejects.toMatchObject({ code: "EEXIST" });
      expect(await files.read(path)).toBe("first");
      expect((await files.stat(path))?.mode).toBe(0o600);
      expect(await files.list(folder)).toEqual(["once"]);
    });
  });
});
