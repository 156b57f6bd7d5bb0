import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startCluster } from "../../src/cluster/index.js";

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const PRELOAD = join(ROOT, "test/fixtures/kill-at-step.cjs");
const PROGRAM = join(ROOT, "dist/bin/compute-cluster.js");

/** Files that a snapshot does not include, files that SQLite creates again, and temporary files, which are never read. */
const OWN =
  /^(snapshots|logs)\/|^(cluster\.json|join-token|state\.sqlite\.lock(-journal)?|state\.sqlite-shm)$|(^|\/)\.[^/]+\.[0-9a-f]{12}\.tmp$/;

describe("a restore that is killed", { timeout: 300_000 }, () => {
  let folder: string;
  let before: string;
  /** Fixed, because a restore shifts heartbeats by the time since the snapshot. */
  let now: number;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "snapshot-killed-"));
    before = join(folder, "before");
    const live = join(folder, "live");
    const cloud = await startCluster({ hosts: 2, stateDir: live });
    await cloud.snapshot("one");
    await cloud.faults.set("devstack1", "driver.spawn=fail:once");
    await cloud.stop();
    // SQLite closes its files only at garbage collection, and writes then, so the test uses a copy.
    await cp(live, before, { recursive: true });
    // It names this process, which is alive, and a port that another cluster may use by now.
    await rm(join(before, "cluster.json"));
    // An entry that an earlier restore removed exists again.
    await mkdir(join(before, "agents/gone"));
    await writeFile(join(before, "agents/gone/file"), "gone\n");
    now = Date.now();
    expect(await run(before, ["snapshot", "restore", "one"], 0)).toBe(true);
    // One changed file, one deleted folder, and one new file.
    await writeFile(join(before, "agents/devstack1/compute_id"), "another\n");
    await rm(join(before, "hypervisors/devstack2"), { recursive: true });
    await writeFile(join(before, "hypervisors/devstack1/added"), "added\n");
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Runs a command that is killed before its n-th change of a file. @returns whether it completed */
  function run(stateDir: string, args: readonly string[], step: number): Promise<boolean> {
    const env = { ...process.env, KILL_AT_STEP: String(step), FIXED_TIME: String(now) };
    return new Promise((resolve, reject) => {
      const all = ["--require", PRELOAD, PROGRAM, ...args, "--state-dir", stateDir];
      execFile(process.execPath, all, { env }, (error, _out, stderr) => {
        if (error === null || error.signal === "SIGKILL") {
          resolve(error === null);
        } else {
          reject(new Error(stderr));
        }
      });
    });
  }

  async function contentOf(root: string): Promise<ReadonlyMap<string, string>> {
    const content = new Map<string, string>();
    for (const entry of await readdir(root, { recursive: true })) {
      if (!OWN.test(entry) && (await stat(join(root, entry))).isFile()) {
        content.set(
          entry,
          createHash("sha256")
            .update(await readFile(join(root, entry)))
            .digest("hex"),
        );
      }
    }
    return content;
  }

  it("leaves the old or the new state, wherever it is killed", async () => {
    const place = join(folder, "place");
    const old = await contentOf(before);
    await cp(before, place, { recursive: true });
    expect(await run(place, ["snapshot", "restore", "one"], 0)).toBe(true);
    const restored = await contentOf(place);
    expect(restored).not.toEqual(old);
    const ends = new Set<string>();
    let step = 0;
    for (let ended = false; !ended; ) {
      step += 1;
      await rm(place, { recursive: true });
      await cp(before, place, { recursive: true });
      ended = await run(place, ["snapshot", "restore", "one"], step);
      // The next command completes the interrupted restore.
      expect(await run(place, ["snapshot", "list"], 0)).toBe(true);
      const content = await contentOf(place);
      const end =
        [...content].every(([path, text]) => old.get(path) === text) && content.size === old.size ? "old" : "new";
      expect(content, `killed before change ${step}`).toEqual(end === "old" ? old : restored);
      ends.add(end);
    }
    expect(step).toBeGreaterThan(20);
    expect(ends).toEqual(new Set(["old", "new"]));
  });
});
