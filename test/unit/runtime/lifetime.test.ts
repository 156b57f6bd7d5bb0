import { expect, it } from "vitest";
import { Lifetime } from "../../../src/runtime/lifetime.js";

it("lets any number of operations listen for its end, without Node's warning", async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on("warning", note);
  const life = new Lifetime();
  let heeded = 0;
  for (let count = 0; count < 20; count += 1) {
    void life.bounded(undefined, async (signal) => {
      signal.addEventListener("abort", () => {
        heeded += 1;
      });
      return new Promise(() => {});
    });
  }
  await new Promise(setImmediate);
  process.off("warning", note);
  expect(warnings).toEqual([]);
  life.kill();
  expect(heeded).toBe(20);
});
