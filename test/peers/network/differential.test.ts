import { appendFileSync } from "node:fs";
import { expect, test } from "vitest";
import { DifferentialRun } from "./differential-run.js";
import { MEANT_DIFFERENCES } from "./meant-differences.js";
import { HOW_TO_INSTALL, isInstalled, startRealNeutron } from "./real-neutron.js";

/** NETWORK_SEED selects other requests, NETWORK_REQUESTS their number; NETWORK_LOG is a file for all of them. */
const SEED = Number(process.env.NETWORK_SEED ?? 1);
const REQUESTS = Number(process.env.NETWORK_REQUESTS ?? 2000);
const LOG = process.env.NETWORK_LOG;

test("random requests have the same responses as those of Debian's Neutron", {
  timeout: 1_800_000,
}, async (context) => {
  if (!isInstalled()) {
    if (process.env.CI === "true") {
      expect.fail(HOW_TO_INSTALL);
    }
    context.skip(HOW_TO_INSTALL);
  }
  const real = await startRealNeutron();
  const run = new DifferentialRun(
    real,
    SEED,
    LOG === undefined ? undefined : (line) => appendFileSync(LOG, `${line}\n`),
  );
  const unexplained = () =>
    run.kinds.filter(({ text }) => !MEANT_DIFFERENCES.some(({ pattern }) => pattern.test(text)));
  try {
    await run.seedNetworks();
    for (let number = 0; number < REQUESTS; number += 1) {
      await run.step();
    }
  } finally {
    await real.stop();
    const table = unexplained().map(
      ({ count, text, example }) => `${String(count).padStart(5)}  ${text}\n       ${example}`,
    );
    process.stdout.write(`${table.join("\n")}\n${run.summary}; ${table.length} unexplained kinds\n`);
  }
  expect(unexplained().map(({ text }) => text)).toEqual([]);
});
