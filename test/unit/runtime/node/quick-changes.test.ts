import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { inTemporaryFolder, NodeFiles } from "../../../../src/runtime/node/node-files.js";
import { createNodeRuntime } from "../../../../src/runtime/node/node-runtime.js";
import { QuickChanges, SyncTimeBudget } from "../../../../src/runtime/node/synchronous-files.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

const runtime = createNodeRuntime({ logger: createVirtualRuntime().logger });

const BUDGET_CASES = {
  "at once": { took: 0, isAtOnce: true },
  "by a thread where the turn's time is over": { took: 1_000, isAtOnce: false },
};

afterEach(() => vi.restoreAllMocks());

/** Returns whether the work was done before the next event-loop tick. */
async function isDoneAtOnce(work: Promise<unknown>): Promise<boolean> {
  let done = false;
  void work.then(() => {
    done = true;
  });
  for (let microtask = 0; microtask < 50; microtask += 1) {
    await null;
  }
  const atOnce = done;
  await work;
  return atOnce;
}

it.each(Object.entries(BUDGET_CASES))("changes names, folders and small files %s", async (_, { took, isAtOnce }) => {
  await inTemporaryFolder(runtime, "changes", async (folder) => {
    let now = 0;
    vi.spyOn(performance, "now").mockImplementation(() => {
      now += took;
      return now;
    });
    const budget = new SyncTimeBudget();
    const change = new QuickChanges(budget);
    const tried = (work: () => Promise<unknown>) => {
      budget.spend(() => {});
      return isDoneAtOnce(work());
    };
    const at = (name: string) => join(folder, name);
    const done = [
      await tried(() => change.makeFolders(at("a/b/c"), 0o700)),
      await tried(() => change.write(at("a/new"), "text", { mode: 0o600, flag: "wx", flush: false })),
      await tried(() => change.link(at("a/new"), at("a/second"))),
      await tried(() => change.unlink(at("a/new"))),
      await tried(() => change.rename(at("a/second"), at("a/named"))),
      await tried(() => change.truncate(at("a/disk"), 1 << 20)),
      await tried(() => change.rmdir(at("a/b/c"))),
    ];
    expect(new Set(done)).toEqual(new Set([isAtOnce]));
    expect(readdirSync(at("a")).toSorted()).toEqual(["b", "disk", "named"]);
    expect(readFileSync(at("a/named"), "utf8")).toBe("text");
    expect(statSync(at("a/named")).mode & 0o777).toBe(0o600);
    expect(statSync(at("a/disk")).size).toBe(1 << 20);
    await expect(change.write(at("a/named"), "", { mode: 0o600, flag: "wx", flush: false })).rejects.toThrow("EEXIST");
    await expect(change.makeFolders(at("a/named"), 0o700)).rejects.toThrow("EEXIST");
    await expect(change.rename(at("a/none"), at("a/other"))).rejects.toThrow("ENOENT");
  });
});

it("flushes to disk in a thread", async () => {
  await inTemporaryFolder(runtime, "changes", async (folder) => {
    const change = new QuickChanges(new SyncTimeBudget());
    const flushed = { mode: 0o600, flag: "w", flush: true } as const;
    expect(await isDoneAtOnce(change.write(join(folder, "file"), "text", flushed))).toBe(false);
    expect(readFileSync(join(folder, "file"), "utf8")).toBe("text");
  });
});

it("does not flush fleeting files, nor a new empty file", async () => {
  await inTemporaryFolder(runtime, "changes", async (folder) => {
    const files = new NodeFiles();
    const at = (name: string) => join(folder, name);
    expect(await isDoneAtOnce(files.write(at("lasting"), "text"))).toBe(false);
    expect(await isDoneAtOnce(files.write(at("fleeting"), "text", { fleeting: true }))).toBe(true);
    expect(await isDoneAtOnce(files.write(at("unseen"), "text", { fleeting: true, unseen: true }))).toBe(true);
    expect(await isDoneAtOnce(files.create(at("new"), "text"))).toBe(false);
    expect(await isDoneAtOnce(files.create(at("empty"), "", { mode: 0o600 }))).toBe(true);
    await expect(files.create(at("empty"), "")).rejects.toMatchObject({ code: "EEXIST" });
    expect(readdirSync(folder).toSorted()).toEqual(["empty", "fleeting", "lasting", "new", "unseen"]);
    expect(statSync(at("empty")).mode & 0o777).toBe(0o600);
  });
});

it("creating an existing folder changes nothing, and removing one removes its contents", async () => {
  await inTemporaryFolder(runtime, "changes", async (folder) => {
    const files = new NodeFiles();
    mkdirSync(join(folder, "full/below"), { recursive: true });
    writeFileSync(join(folder, "full/below/file"), "");
    expect(await isDoneAtOnce(files.makeFolder(join(folder, "full")))).toBe(true);
    await files.remove(join(folder, "full"));
    mkdirSync(join(folder, "empty"));
    expect(await isDoneAtOnce(files.remove(join(folder, "empty")))).toBe(true);
    await files.remove(join(folder, "absent"));
    expect(readdirSync(folder)).toEqual([]);
  });
});
