import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startCluster } from "../../src/cluster/index.js";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Measures the resources of the idle process. */
async function held() {
  // Closed resources are released in later event-loop ticks.
  await pause(200);
  collect();
  await pause(50);
  collect();
  return {
    megabytes: process.memoryUsage().heapUsed / 2 ** 20,
    handles: process.getActiveResourcesInfo().filter((name) => name !== "Immediate").length,
    files: readdirSync("/proc/self/fd").length,
    folders: readdirSync(tmpdir()).length,
  };
}

describe("200 clusters one after the other in one process", { timeout: 600_000 }, () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "many-clusters-"));
    vi.stubEnv("TMPDIR", folder);
  });
  afterAll(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });

  it("leave neither memory nor handles nor files", async () => {
    const once = async (count: number) => {
      const cloud = await startCluster({ hosts: 1, time: count % 2 === 0 ? "real" : "virtual" });
      if (count % 20 === 0) {
        await cloud.reset();
      }
      await cloud.stop();
    };
    for (let count = 1; count <= 20; count += 1) {
      await once(count);
    }
    const before = await held();
    for (let count = 1; count <= 200; count += 1) {
      await once(count);
    }
    const after = await held();
    // A tenth of the memory of a single cluster.
    expect(after.megabytes - before.megabytes).toBeLessThan(10);
    expect(after.handles).toBeLessThanOrEqual(before.handles);
    expect(after.files).toBeLessThanOrEqual(before.files + 2);
    expect(after.folders).toBeLessThanOrEqual(before.folders);
  });
});
