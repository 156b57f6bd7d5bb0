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

/** What a snapshot does not touch, what the engine makes anew, and what has not got its name yet: nobody reads that. */
const OWN =
  /^(snapshots|logs)\/|^(cluster\.json|join-token|state\.sqlite\.lock(-journal)?|state\.sqlite-shm)$|(^|\/)\.[^/]+\.[0-9a-f]{12}\.tmp$/;

describe("a restore that is killed", { timeout: 300_000 }, () => {
  let folder: string;
  let before: string;
  /** A restore makes heartbeats as old as they were, so that what it writes depends on the time. */
  let now: number;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "snapshot-killed-"));
    before = join(folder, "before");
    const live = join(folder, "live");
    const cloud = await startCluster({ hosts: 2, stateDir: live });
    await cloud.snapshot("one");
    await cloud.faults.set("devstack1", "driver.spawn=fail:once");
    await cloud.stop();
    // The engine closes what it had open there when that is collected, and writes then.
    await cp(live, before, { recursive: true });
    // It names this process, which lives, and a port that may be another cluster's by now.
    await rm(join(before, "cluster.json"));
    // What has gone in an earlier restore is there for this one.
    await mkdir(join(before, "agents/gone"));
    await writeFile(join(before, "agents/gone/file"), "gone\n");
    now = Date.now();
    expect(await run(before, ["snapshot", "restore", "one"], 0)).toBe(true);
    // A file that is another one, one that is gone, one that is new, and a folder in the place of a file.
    await writeFile(join(before, "agents/devstack1/compute_id"), "another\n");
    await rm(join(before, "hypervisors/devstack2"), { recursive: true });
    await writeFile(join(before, "hypervisors/devstack1/added"), "added\n");
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Runs a command, killed before its n-th change of a file. @returns whether it came to its end */
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

  it("leaves the old state or the new one, wherever that happens", async () => {
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
      // The next who uses it ends what was begun.
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
