import { expect, test } from "vitest";
import { runCase } from "../fixtures/fault-matrix/cases.js";
import { conductorSample, strikeAt } from "../fixtures/fault-matrix/conductor-cases.js";
import { FAULTS } from "../fixtures/fault-matrix/faults.js";
import { stepsOfMatrix, uncovered } from "../fixtures/fault-matrix/flows.js";
import { SAMPLE } from "../fixtures/fault-matrix/sample.js";

test("9.4 every step of every operation, and every fault, is in the sample", () => {
  expect(uncovered()).toEqual([]);
  expect([...new Set(SAMPLE.map(({ operation, step }) => `${operation}.${step}`))].sort()).toEqual(stepsOfMatrix());
  expect(new Set(SAMPLE.map(({ fault }) => fault)).size).toBe(FAULTS.length);
});

for (const matrixCase of SAMPLE) {
  test(`9.4 ${matrixCase.name}`, async () => {
    expect(await runCase(matrixCase)).toEqual([]);
  });
}

for (const { flow, fault } of conductorSample()) {
  test(`9.4 ${flow.name}: ${fault.name} the conductor's first request`, async () => {
    expect(await strikeAt(flow, fault, 0)).toMatchObject({ breaches: [] });
  });
}
