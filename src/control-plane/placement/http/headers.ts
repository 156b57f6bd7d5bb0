import { HttpError } from "../../http/http-error.js";

/** Microversions are 1.0 to 1.39; the code identifies them by the minor number. */
export const MAX_MINOR = 39;

const SERVICE = "placement";

/**
 * Returns the minor version that an OpenStack-API-Version header requests; 0 if it has no version for this service.
 * @throws {HttpError} 400 if it cannot be parsed, 406 if the version does not exist.
 */
export function negotiate(header: string | undefined): number {
  if (header === undefined) {
    return 0;
  }
  const known = KNOWN.get(header);
  if (known !== undefined) {
    return known;
  }
  const requestedVersion = findServiceVersion(header);
  if (requestedVersion === undefined) {
    return 0;
  }
  if (requestedVersion === "latest") {
    return MAX_MINOR;
  }
  const [major, minor] = parse(requestedVersion);
  if (major === 1 && minor >= 0 && minor <= MAX_MINOR) {
    return minor;
  }
  throw new HttpError(406, `Invalid microversion: Unacceptable version header: ${requestedVersion}`);
}

const KNOWN: ReadonlyMap<string, number> = new Map(
  Array.from({ length: MAX_MINOR + 1 }, (_, minor) => [`${SERVICE} 1.${minor}`, minor] as const),
);

function findServiceVersion(header: string): string | undefined {
  for (const value of header.split(",").reverse()) {
    const match = /^(\S+)\s+(\S[\s\S]*)$/.exec(value.trim());
    if (match?.[1]?.toLowerCase() === SERVICE) {
      return match[2]?.trim();
    }
  }
  return undefined;
}

function parse(text: string): readonly [number, number] {
  const dot = text.indexOf(".");
  const parts = dot < 0 ? [text] : [text.slice(0, dot), text.slice(dot + 1)];
  const numbers = parts.map((part) => {
    const number = pythonInt(part);
    if (number === undefined) {
      throw invalid(text, `invalid literal for int() with base 10: '${part}'`);
    }
    return number;
  });
  const [major, minor] = numbers;
  if (major === undefined || minor === undefined) {
    throw invalid(text, "Version.__new__() missing 1 required positional argument: 'minor'");
  }
  return [major, minor];
}

function invalid(text: string, reason: string): HttpError {
  return new HttpError(400, `Invalid microversion: invalid version string: ${text}; ${reason}`);
}

/** Python's `int(text)`; undefined where Python raises an error. */
export function pythonInt(text: string): number | undefined {
  const trimmed = text.trim();
  return /^[-+]?[0-9]+(?:_[0-9]+)*$/.test(trimmed) ? Number(trimmed.replaceAll("_", "")) : undefined;
}

const DAYS = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

let lastSecond = -1;

let lastText = "";

/**
 * Formats milliseconds since the epoch as `Sat, 21 Nov 2026 14:03:40 GMT`. Caches the last result, since most calls are
 * for the current second.
 */
export function httpDate(milliseconds: number): string {
  const second = Math.floor(milliseconds / 1000);
  if (second !== lastSecond) {
    lastText = format(second);
    lastSecond = second;
  }
  return lastText;
}

function format(second: number): string {
  const days = Math.floor(second / 86_400);
  const rest = second - days * 86_400;
  const clock = [Math.floor(rest / 3600), Math.floor(rest / 60) % 60, rest % 60].map(two).join(":");
  const [year, month, day] = civil(days);
  return `${DAYS[((days % 7) + 7) % 7]}, ${two(day)} ${MONTHS[month]} ${year} ${clock} GMT`;
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}

/**
 * Returns year, month (from 0) and day of the month for a day since the epoch. Eras are 400 years that begin on 1
 * March.
 */
function civil(days: number): readonly [number, number, number] {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const ofEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (ofEra - Math.floor(ofEra / 1460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) / 365,
  );
  const ofYear = ofEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const fromMarch = Math.floor((5 * ofYear + 2) / 153);
  const day = ofYear - Math.floor((153 * fromMarch + 2) / 5) + 1;
  const month = (fromMarch + 2) % 12;
  return [yearOfEra + era * 400 + (month < 2 ? 1 : 0), month, day];
}
