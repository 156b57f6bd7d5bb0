import { expect, it } from "vitest";
import { madeOnce } from "../../../src/runtime/task-queue.js";

it("creates a value once for all callers, concurrent and later ones", async () => {
  let made = 0;
  const get = madeOnce(async () => {
    made += 1;
    return made;
  });
  expect(await Promise.all([get(), get()])).toEqual([1, 1]);
  expect(await get()).toBe(1);
});

it("creates it again for the next caller after a failure", async () => {
  let tries = 0;
  const get = madeOnce(async () => {
    tries += 1;
    if (tries === 1) {
      throw new Error("not yet");
    }
    return tries;
  });
  const results = await Promise.allSettled([get(), get()]);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await Promise.all([get(), get()])).toEqual([2, 2]);
});
