import type { Clock } from "../clock.js";

export function nodeClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
  };
}
