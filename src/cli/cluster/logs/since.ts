const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * A time in the past, in milliseconds since the epoch: so long ago, or when it was; without a zone, local time. Undefined: the text
 * says neither.
 */
export function parseSince(text: string, now: number): number | undefined {
  const [, amount, unit] = /^(\d{1,9}(?:\.\d{1,3})?)([smhd])$/.exec(text) ?? [];
  if (amount !== undefined && unit !== undefined) {
    return now - Number(amount) * (UNITS[unit] ?? 0);
  }
  if (!/^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:?\d\d)?)?$/.test(text)) {
    return undefined;
  }
  // A day alone would be one of UTC.
  const time = Date.parse(text.length === 10 ? `${text}T00:00` : text.replace(" ", "T"));
  return Number.isNaN(time) ? undefined : time;
}
