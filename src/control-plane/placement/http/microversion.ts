import { HttpError } from "./http-error.js";

/** Microversions are 1.0 to 1.39; they are handled by their second number. */
export const MAX_MINOR = 39;

const SERVICE = "placement";

/**
 * The minor number asked for by an OpenStack-API-Version header; 0 when none is for this service.
 * @throws {HttpError} 400 when it cannot be parsed, 406 when there is no such version.
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

/** `int(text)` of Python; undefined where that raises. */
export function pythonInt(text: string): number | undefined {
  const trimmed = text.trim();
  return /^[-+]?[0-9]+(?:_[0-9]+)*$/.test(trimmed) ? Number(trimmed.replaceAll("_", "")) : undefined;
}
