import { appendFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Kind, tableOfKinds } from "../differential/kinds.js";
import { DifferentialRun } from "./differential-run.js";
import { MEANT_DIFFERENCES } from "./meant-differences.js";
import { HOW_TO_INSTALL, isInstalled, startRealCinder } from "./real-cinder.js";

/**
 * VOLUME_SEED selects other requests and VOLUME_REQUESTS their number. VOLUME_LOG is a file for all of them. VOLUME_MEANT=1
 * also prints the intended differences.
 */
const SEED = Number(process.env.VOLUME_SEED ?? 1);
const REQUESTS = Number(process.env.VOLUME_REQUESTS ?? 2000);
const LOG = process.env.VOLUME_LOG;

test("random requests have the same responses as those of Debian's Cinder", {
  timeout: 900_000,
}, async (context) => {
  if (!isInstalled()) {
    if (process.env.CI === "true") {
      expect.fail(HOW_TO_INSTALL);
    }
    context.skip(HOW_TO_INSTALL);
  }
  const real = await startRealCinder();
  const log = LOG === undefined ? undefined : (line: string) => appendFileSync(LOG, `${line}\n`);
  const run = new DifferentialRun(real, SEED, log);
  const isMeant = ({ text }: Kind) => MEANT_DIFFERENCES.some(({ pattern }) => pattern.test(text));
  const unexplained = () => run.kinds.filter((kind) => !isMeant(kind));
  try {
    await run.prepare();
    for (let number = 0; number < REQUESTS; number += 1) {
      await run.step();
    }
  } finally {
    await real.stop();
    if (process.env.VOLUME_MEANT === "1") {
      process.stdout.write(`meant:\n${tableOfKinds(run.kinds.filter(isMeant))}\n`);
    }
    const kinds = unexplained();
    process.stdout.write(`${tableOfKinds(kinds)}\n${run.summary}; ${kinds.length} unexplained kinds\n`);
  }
  expect(unexplained().map(({ text }) => text)).toEqual([]);
});
