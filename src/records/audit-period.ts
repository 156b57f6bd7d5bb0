/** In milliseconds since the epoch. */
export interface AuditPeriod {
  readonly begin: number;
  readonly end: number;
}

const PERIOD = /^(hour|day|month|year)(?:@(\d{1,2}))?$/;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The largest offset of a period: minutes, hours, a day that each month has, the month. 0 is the beginning. */
const LARGEST: Readonly<Record<string, number>> = { hour: 59, day: 23, month: 28, year: 12 };

/** Returns whether a string is a period: `month`, or `day@6` for one that begins at 6:00 UTC. */
export function isAuditPeriod(text: string): boolean {
  const [, unit = "", shift = "0"] = PERIOD.exec(text) ?? [];
  return Number(shift) <= (LARGEST[unit] ?? -1);
}

/**
 * Returns the last period (`[DEFAULT] instance_usage_audit_period`) that ended before a time. A period that ends
 * exactly then does not count.
 * @param period a string accepted by {@link isAuditPeriod}
 */
export function lastCompletedPeriod(period: string, before: number): AuditPeriod {
  const [, unit = "month", shift = "0"] = PERIOD.exec(period) ?? [];
  const boundary = boundaries(unit, Number(shift), before);
  const last = boundary(0) < before ? 0 : -1;
  return { begin: boundary(last - 1), end: boundary(last) };
}

/** Returns a function from an offset in units to the start of a period, counted from the unit that contains `time`. */
function boundaries(unit: string, shift: number, time: number): (after: number) => number {
  if (unit === "hour") {
    return (after) => (Math.floor(time / HOUR) + after) * HOUR + shift * MINUTE;
  }
  if (unit === "day") {
    return (after) => (Math.floor(time / DAY) + after) * DAY + shift * HOUR;
  }
  const date = new Date(time);
  const year = date.getUTCFullYear();
  return unit === "year"
    ? (after) => startOf(year + after, Math.max(1, shift) - 1, 1)
    : (after) => startOf(year, date.getUTCMonth() + after, Math.max(1, shift));
}

/** `Date.UTC` maps years before 100 to other years. */
function startOf(year: number, month: number, day: number): number {
  const date = new Date(0);
  date.setUTCFullYear(year, month, day);
  return date.getTime();
}
