import { describe, expect, test } from "vitest";
import { effectiveDownTime, isUp } from "../../../src/conductor/liveness.js";

describe("is_up", () => {
  const service = { forcedDown: false, lastSeenUp: 100_000, createdAt: 0 };
  test.each([
    ["seen just now", {}, 100_000, true],
    ["seen at the edge of service_down_time", {}, 160_000, true],
    ["seen longer ago", {}, 160_001, false],
    ["seen in the future, as clocks jump", {}, 39_999, false],
    ["never seen, just created", { lastSeenUp: null }, 60_000, true],
    ["never seen, created long ago", { lastSeenUp: null }, 60_001, false],
    ["forced down", { forcedDown: true }, 100_000, false],
  ])("1.2 %s", (_, values, now, up) => {
    expect(isUp({ ...service, ...values }, { now, serviceDownTime: 60_000 })).toBe(up);
  });

  test("2.5 row 2 a down time that is not above report_interval becomes 2.5 times that", () => {
    expect([effectiveDownTime(60, 10), effectiveDownTime(10, 10), effectiveDownTime(5, 11)]).toEqual([60, 25, 27]);
  });
});
