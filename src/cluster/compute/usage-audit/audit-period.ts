/** `2026-10-01 00:00:00`, UTC. */
export interface AuditPeriod {
  readonly begin: string;
  readonly end: string;
}

const TIME = /^(\d{4})-(\d{1,2})-(\d{1,2})\s+(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,6}))?$/;

/**
 * The last month that was over before a time: Nova's `[DEFAULT] instance_usage_audit_period`, by default. One that ends at that very
 * moment was not. Undefined: this is no time.
 */
export function lastCompletedPeriod(before: string): AuditPeriod | undefined {
  const parts = TIME.exec(before)
    ?.slice(1)
    .map((part) => Number(part ?? 0));
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, fraction = 0] = parts ?? [];
  const isTime = year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);
  if (!isTime || hour > 23 || minute > 59 || second > 59) {
    return undefined;
  }
  const isFirstMoment = day === 1 && hour + minute + second + fraction === 0;
  const end = year * 12 + month - 1 - (isFirstMoment ? 1 : 0);
  return { begin: firstOf(end - 1), end: firstOf(end) };
}

function daysIn(year: number, month: number): number {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
}

/** @param months since the beginning of the calendar */
function firstOf(months: number): string {
  const year = String(Math.floor(months / 12)).padStart(4, "0");
  return `${year}-${String((months % 12) + 1).padStart(2, "0")}-01 00:00:00`;
}
