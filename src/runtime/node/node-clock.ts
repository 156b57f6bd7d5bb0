import type { Clock } from "../clock.js";

export const nodeClock = (): Clock => ({
  now: () => Date.now(),
  monotonic: () => performance.now(),
});
