import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DriverReport } from "../../../src/testing/report.js";
import { Program } from "../../process/support/program.js";
import { writeCountingImage } from "./support/counts.js";
import { missingQemu } from "./support/installed.js";

const missing = missingQemu();

/** What every cloud has. */
const IMAGE = "c0ffee00-0000-4000-8000-000000000001";

describe.skipIf(missing !== null)(`driver qemu as a user has it${missing === null ? "" : ` (${missing})`}`, () => {
  let stateDir: string;
  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), "qemu-programs-"));
  });
  afterEach(() => rm(stateDir, { recursive: true, force: true }));

  test("compute-agent driver check qemu: every rule is kept, and guests keep their data", async () => {
    const program = new Program("compute-agent", ["driver", "check", "qemu", "--json", "--limit", "120"]);
    const { code } = await program.exited;
    const { results } = JSON.parse(program.stdout) as DriverReport;
    expect(results.filter(({ verdict }) => verdict === "failed" || verdict === "unreached")).toEqual([]);
    const data = results.filter(({ section }) => section === "8.12");
    expect(data.map(({ verdict }) => verdict)).toEqual(data.map(() => "passed"));
    expect(code).toBe(0);
  }, 1_800_000);

  test("compute-cluster drill: every operation of the API is done by it", async () => {
    await writeCountingImage(join(stateDir, "images", `${IMAGE}.raw`));
    const args = ["up", "--driver", "qemu", "--hosts", "2", "--port", "0", "--state-dir", stateDir];
    const cluster = new Program("compute-cluster", args);
    try {
      await cluster.printed(/Ctrl-C stops all of it/);
      const drill = new Program("compute-cluster", ["drill", "--json", "--patience", "180", "--state-dir", stateDir]);
      const { code } = await drill.exited;
      const rows = JSON.parse(drill.stdout) as readonly { readonly operation: string; readonly verdict: string }[];
      // A live migration of so small a guest may be over before the API has asked for its end.
      const late = rows.find(({ operation, verdict }) => operation === "abort live migration" && verdict === "skipped");
      expect(rows.filter((row) => row.verdict !== "ok" && row !== late)).toEqual([]);
      expect(rows.map(({ operation }) => operation)).toContain("evacuate");
      expect(code).toBe(0);
    } finally {
      await cluster.stop();
    }
  }, 900_000);
});
