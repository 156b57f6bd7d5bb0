import { expect, test } from "vitest";
import { adapterRelease } from "../fixtures/adapter-release.js";
import { CASES, runCase } from "../fixtures/fault-matrix/cases.js";
import { FAULTS } from "../fixtures/fault-matrix/faults.js";
import { type Flow, stepsOfMatrix } from "../fixtures/fault-matrix/flows.js";
import { sampleOf, stepOf } from "../fixtures/fault-matrix/sample.js";

const release = adapterRelease() ?? "";
/** A different seed for each release, so that each runs other cases. */
const SEEDS: Readonly<Record<string, number>> = { zed: 5, "2025.1": 8, "2026.2": 13 };
const seed = Number(process.env.MATRIX_SEED ?? SEEDS[release]);

/**
 * Releases so old that they account for moves twice are not supported; Zed has no evacuation that leaves a server stopped.
 */
function isSupported({ name }: Flow): boolean {
  return !name.endsWith(", doubled") && !(release === "zed" && name === "evacuate");
}
const SAMPLE = sampleOf(
  CASES.filter(({ flow }) => isSupported(flow)),
  seed,
);

test("9.4 every step of every operation, and every fault, is in the sample", () => {
  expect(SAMPLE.map(stepOf).sort()).toEqual(stepsOfMatrix());
  expect(new Set(SAMPLE.map(({ fault }) => fault)).size).toBe(FAULTS.length);
});

for (const matrixCase of SAMPLE) {
  test(`9.4 ${matrixCase.name}`, async () => {
    expect(await runCase(matrixCase)).toEqual([]);
  });
}
