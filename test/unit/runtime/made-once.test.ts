import { expect, it } from "vitest";
import { madeOnce } from "../../../src/runtime/task-queue.js";

it("makes something once for all who ask, at the same time and later", async () => {
  let made = 0;
  const get = madeOnce(async () => {
    made += 1;
    return made;
  });
  expect(await Promise.all([get(), get()])).toEqual([1, 1]);
  expect(await get()).toBe(1);
});

it("makes it again for the next one when it failed for all who had asked", async () => {
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
