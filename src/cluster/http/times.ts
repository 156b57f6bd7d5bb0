/** `2026-11-21T12:23:32.000000`: how Nova's and Keystone's views write most times. */
export const isoMicroseconds = (milliseconds: number): string => `${iso(milliseconds).slice(0, 23)}000`;

/** `2026-11-21T12:23:32Z`. */
export const isoSeconds = (milliseconds: number): string => `${iso(milliseconds).slice(0, 19)}Z`;

/** Milliseconds since the epoch of an ISO 8601 time (UTC when it names no zone); undefined when it is none. */
export function parseIsoTime(text: string): number | undefined {
  const match = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)\s*(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i.exec(
    text.trim(),
  );
  if (!match) {
    return undefined;
  }
  const [, day = "", time = "00:00", zone = "Z"] = match;
  const offset = /^[+-]\d{2}$/.test(zone) ? `${zone}:00` : zone.replace(/^([+-]\d{2})(\d{2})$/, "$1:$2").toUpperCase();
  const parsed = Date.parse(`${day}T${time.replace(",", ".")}${offset}`);
  return Number.isNaN(parsed) ? undefined : parsed;
}

const iso = (milliseconds: number): string => new Date(milliseconds).toISOString();
