import { expect, test } from "vitest";
import { EventLoopTicks } from "../../../src/control-plane/event-loop.js";

test("other work is due after 20 ms of work, and again after 20 ms more", async () => {
  let now = 0;
  let pauses = 0;
  const timers = {
    sleep: async () => {
      pauses += 1;
      now += 1_000;
    },
  };
  const ticks = new EventLoopTicks({ clock: { monotonic: () => now }, timers });
  const due: boolean[] = [];
  for (let step = 0; step < 6; step += 1) {
    due.push(ticks.due);
    if (ticks.due) {
      await ticks.give();
    }
    now += 8;
  }
  expect(due).toEqual([false, false, false, true, false, false]);
  expect(pauses).toBe(1);
});
