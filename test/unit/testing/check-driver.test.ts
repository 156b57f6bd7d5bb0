import { expect, test } from "vitest";
import { check } from "../../../drivers/fake-libvirt/index.js";
import { checkDriver } from "../../../src/testing/index.js";
import { brokenBy } from "./broken/flaw.js";

test("an interrupted check cleans up its case, even if the driver hangs, and reports the cases that it has tried", async () => {
  const interrupt = new AbortController();
  let [openCount, closed] = [0, 0];
  const hanging = brokenBy(() => ({
    spawn: () => {
      interrupt.abort(new Error("interrupted"));
      return new Promise(() => {});
    },
  }));
  const setUp = () => {
    openCount += 1;
    return {
      close: () => {
        closed += 1;
      },
    };
  };
  const reportedCodes: string[] = [];
  const waive = { "instances-unchanged": "not now", "signal-settles": "not now" };
  const options = { ...check, setUp, waive };
  const report = await checkDriver(hanging, options, ({ code }) => reportedCodes.push(code), interrupt.signal);
  expect(report.results.map(({ code }) => code)).toEqual(reportedCodes);
  expect(reportedCodes.at(-1)).toBe("nodes-stay");
  expect(openCount).toBeGreaterThan(0);
  expect(closed).toBe(openCount);
});
