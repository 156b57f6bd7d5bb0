import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DriverReport } from "../../../src/testing/attempt.js";
import { Program } from "../../process/support/program.js";
import { writeCountingImage } from "./support/counts.js";
import { missingQemu } from "./support/installed.js";

const missing = missingQemu();

/** The image that every cloud has. */
const IMAGE = "c0ffee00-0000-4000-8000-000000000001";

/** Timeout in milliseconds of a smoke test, which takes about fifteen seconds. */
const LONG = 600_000;

describe.skipIf(missing !== null)(`driver qemu as a user has it${missing === null ? "" : ` (${missing})`}`, () => {
  let stateDir: string;
  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), "qemu-programs-"));
  });
  afterEach(() => rm(stateDir, { recursive: true, force: true }));

  test("compute-agent driver check qemu: every rule is satisfied, and guests keep their data", async () => {
    const program = new Program("compute-agent", ["driver", "check", "qemu", "--json", "--limit", "120"]);
    const { code } = await program.exited;
    const { results } = JSON.parse(program.stdout) as DriverReport;
    expect(results.filter(({ outcome: result }) => result === "failed" || result === "unreached")).toEqual([]);
    const data = results.filter(({ section }) => section === "8.12");
    expect(data.map(({ outcome: result }) => result)).toEqual(data.map(() => "passed"));
    expect(code).toBe(0);
  }, 1_800_000);

  test("compute-agent smoke-test: the driver performs every operation of the API", async () => {
    await writeCountingImage(join(stateDir, "images", `${IMAGE}.raw`));
    const args = ["up", "--driver", "qemu", "--hosts", "2", "--port", "0", "--state-dir", stateDir];
    const cluster = new Program("compute-cluster", args);
    try {
      await inTime("up", cluster.printed(/Ctrl-C stops all of it/), stateDir);
      const smokeTest = new Program("compute-cluster", [
        "smoke-test",
        "--json",
        "--timeout",
        "60",
        "--state-dir",
        stateDir,
      ]);
      const { code } = await inTime("the drill", smokeTest.exited, stateDir);
      const rows = JSON.parse(smokeTest.stdout) as readonly { readonly operation: string; readonly outcome: string }[];
      // The live migration of such a small guest may end before the API requests its abort.
      const late = rows.find(
        ({ operation, outcome: result }) => operation === "abort live migration" && result === "skipped",
      );
      expect(rows.filter((row) => row.outcome !== "ok" && row !== late)).toEqual([]);
      expect(rows.map(({ operation }) => operation)).toContain("evacuate");
      expect(code).toBe(0);
    } finally {
      await inTime("the cluster's end", cluster.stop(), stateDir);
    }
  }, 2_000_000);
});

/** @throws with the latest logs of the cluster's programs, if the work takes too long. */
async function inTime<T>(what: string, work: Promise<T>, stateDir: string): Promise<T> {
  const over = new AbortController();
  const late = sleep(LONG, undefined, { signal: over.signal }).then(async () => {
    throw new Error(`${what} is not over after ${LONG / 1000} s\n${await lastLogged(stateDir)}`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    late.catch(() => {});
    over.abort();
  }
}

async function lastLogged(stateDir: string): Promise<string> {
  const names = (await readdir(stateDir, { recursive: true })).filter((name) => name.endsWith(".log"));
  const ends = names.map(async (name) => {
    const lines = (await readFile(join(stateDir, name), "utf8")).trim().split("\n");
    return [`== ${name}`, ...lines.slice(-25).map((line) => line.slice(0, 400))].join("\n");
  });
  return (await Promise.all(ends)).join("\n");
}
