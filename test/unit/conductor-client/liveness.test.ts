import { describe, expect, test } from "vitest";
import { effectiveDownTime, isReady, isUp } from "../../../src/conductor-client/liveness.js";

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

describe("readiness of a host for servers", () => {
  const service = { disabled: false, forcedDown: false, lastSeenUp: 100_000, createdAt: 0 };
  test.each([
    ["its agent has sent a heartbeat since its start", {}, 90_000, 155_000, true],
    ["its agent has not, and the last heartbeat lasts until it does", {}, 101_000, 152_000, true],
    ["its agent has not, and the last heartbeat becomes too old before", {}, 101_000, 155_000, false],
    ["the last heartbeat is too old", {}, 200_000, 200_100, false],
    ["it was created a moment ago, and no heartbeat is due yet", { lastSeenUp: null }, 0, 50_000, true],
    ["it was created too long ago for that", { lastSeenUp: null }, 0, 55_000, false],
    ["nothing is known of its agent's start, and the last heartbeat is new enough", {}, null, 155_000, true],
    ["it is disabled", { disabled: true }, 90_000, 101_000, false],
    ["it is forced down", { forcedDown: true }, 90_000, 101_000, false],
  ])("%s", (_, values, startedAt, now, ready) => {
    expect(isReady({ ...service, ...values }, startedAt, { now, serviceDownTime: 60_000 })).toBe(ready);
  });
});
