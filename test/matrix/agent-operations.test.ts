import { expect, test } from "vitest";
import { CASES, runCase } from "../fixtures/fault-matrix/cases.js";

for (const matrixCase of CASES) {
  test(`9.4 ${matrixCase.name}`, async () => {
    expect(await runCase(matrixCase)).toEqual([]);
  });
}
