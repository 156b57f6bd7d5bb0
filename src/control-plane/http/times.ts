/**
 * Formats a time as most views of Nova and Keystone do: `2026-11-21T12:23:32.000000`. Milliseconds may have a fraction.
 */
export function isoMicroseconds(milliseconds: number): string {
  const microseconds = Math.round(milliseconds * 1000);
  const rest = String(microseconds % 1000).padStart(3, "0");
  return `${iso(Math.floor(microseconds / 1000)).slice(0, 23)}${rest}`;
}

/** Formats a time without fractions of a second: `2026-11-21T12:23:32Z`. */
export const isoSeconds = (milliseconds: number): string => `${iso(toSeconds(milliseconds)).slice(0, 19)}Z`;

/** Returns the time as {@link isoSeconds} renders it, to compare it with a client's. */
export const toSeconds = (milliseconds: number): number => Math.floor(milliseconds / 1000) * 1000;

/** Returns the first time that {@link isoSeconds} does not render as earlier than a client's. */
export const firstSince = (milliseconds: number): number => Math.ceil(milliseconds / 1000) * 1000;

/** Returns the last time that {@link isoSeconds} does not render as later than a client's. */
export const lastBefore = (milliseconds: number): number => toSeconds(milliseconds) + 999;

/**
 * Parses an ISO 8601 time to milliseconds since the epoch, with microseconds as their fraction. Times without a zone
 * are UTC. Returns undefined for any other string.
 */
export function parseIsoTime(text: string): number | undefined {
  const match =
    /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:[.,](\d+))?)?)\s*(Z|[+-]\d{2}(?::?\d{2})?)?)?$/i.exec(
      text.trim(),
    );
  if (!match) {
    return undefined;
  }
  const [, day = "", time = "00:00", fraction = "", zone = "Z"] = match;
  const offset = /^[+-]\d{2}$/.test(zone) ? `${zone}:00` : zone.replace(/^([+-]\d{2})(\d{2})$/, "$1:$2").toUpperCase();
  const parsed = Date.parse(`${day}T${time.replace(/[.,].*/, "")}${offset}`);
  const microseconds = Number(fraction.slice(0, 6).padEnd(6, "0"));
  return Number.isNaN(parsed) ? undefined : parsed + microseconds / 1000;
}

const iso = (milliseconds: number): string => new Date(milliseconds).toISOString();
