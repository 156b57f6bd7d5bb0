import { describe, expect, test } from "vitest";
import { isAuditPeriod, lastCompletedPeriod } from "../../../src/records/index.js";

const at = (text: string): number => Date.parse(`${text.replace(" ", "T")}Z`);
const formatTime = (time: number): string => new Date(time).toISOString().slice(0, 19).replace("T", " ");

describe("4.10 the last period that ended before", () => {
  test.each([
    ["month", "2026-11-25 17:58:51", "2026-10-01 00:00:00", "2026-11-01 00:00:00"],
    ["month", "2026-11-01 00:00:00.001", "2026-10-01 00:00:00", "2026-11-01 00:00:00"],
    ["month", "2026-11-01 00:00:00", "2026-09-01 00:00:00", "2026-10-01 00:00:00"],
    ["month", "2026-01-31 01:02:03", "2025-12-01 00:00:00", "2026-01-01 00:00:00"],
    ["month", "2026-01-01 00:00:00", "2025-11-01 00:00:00", "2025-12-01 00:00:00"],
    ["month", "2024-02-29 12:00:00", "2024-01-01 00:00:00", "2024-02-01 00:00:00"],
    ["month", "0099-03-01 00:00:01", "0099-02-01 00:00:00", "0099-03-01 00:00:00"],
    ["month@15", "2026-01-14 00:00:00", "2025-11-15 00:00:00", "2025-12-15 00:00:00"],
    ["month@15", "2026-01-16 00:00:00", "2025-12-15 00:00:00", "2026-01-15 00:00:00"],
    ["hour", "2026-11-25 17:58:51", "2026-11-25 16:00:00", "2026-11-25 17:00:00"],
    ["hour@30", "2026-11-25 17:29:00", "2026-11-25 15:30:00", "2026-11-25 16:30:00"],
    ["day", "2026-11-25 00:00:00", "2026-11-23 00:00:00", "2026-11-24 00:00:00"],
    ["day@6", "2026-11-25 05:00:00", "2026-11-23 06:00:00", "2026-11-24 06:00:00"],
    ["day@6", "2026-11-25 07:00:00", "2026-11-24 06:00:00", "2026-11-25 06:00:00"],
    ["year", "2026-11-25 17:58:51", "2025-01-01 00:00:00", "2026-01-01 00:00:00"],
    ["year@12", "2026-11-25 17:58:51", "2024-12-01 00:00:00", "2025-12-01 00:00:00"],
  ])("%s, %s: %s to %s", (period, before, begin, end) => {
    const found = lastCompletedPeriod(period, at(before));
    expect([formatTime(found.begin), formatTime(found.end)]).toEqual([begin, end]);
  });

  test.each(["hour@59", "day@23", "month@28", "year@12", "day@0"])("%s is a period", (text) => {
    expect(isAuditPeriod(text)).toBe(true);
  });

  test.each(["hour@60", "day@24", "month@29", "year@13", "week", "day@", "day@-1", "", "constructor"])(
    "%j is not a period",
    (text) => {
      expect(isAuditPeriod(text)).toBe(false);
    },
  );
});
