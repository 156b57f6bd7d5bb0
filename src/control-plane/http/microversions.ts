import type { HttpError } from "./http-error.js";

type Headers = Readonly<Record<string, string>>;

/** The microversions of a service: `<major>.<minimum>` to `<major>.<maximum>`. */
export interface MicroversionRange {
  readonly major: number;
  readonly minimum: number;
  readonly maximum: number;
  /** Returns undefined if the text is no version. */
  readonly parse: (text: string) => readonly [major: number, minor: number] | undefined;
  readonly malformed: (requested: string) => HttpError;
  readonly unsupported: (requested: string, major: number, minor: number) => HttpError;
}

/**
 * Returns the minor version to respond with.
 * @param requested the version in the request's header, `latest`, or undefined for the oldest
 * @throws {HttpError} the service's error for a malformed or unsupported version
 */
export function negotiate(requested: string | undefined, range: MicroversionRange): number {
  if (requested === undefined) {
    return range.minimum;
  }
  if (requested === "latest") {
    return range.maximum;
  }
  const version = range.parse(requested);
  if (version === undefined) {
    throw range.malformed(requested);
  }
  const [major, minor] = version;
  if (major !== range.major || minor < range.minimum || minor > range.maximum) {
    throw range.unsupported(requested, major, minor);
  }
  return minor;
}

/** Returns the version of a service in the header `OpenStack-API-Version`: its last value, such as `compute 2.96`. */
export function standardVersion(headers: Headers, service: string): string | undefined {
  const values = headers["openstack-api-version"]?.split(",") ?? [];
  for (const value of values.reverse()) {
    const [, name, version] = /^(\S+)\s+(\S[\s\S]*)$/.exec(value.trim()) ?? [];
    if (name?.toLowerCase() === service) {
      return version?.trim();
    }
  }
  return undefined;
}

/** Returns the version in a service's own header: its last value. */
export function ownVersion(headers: Headers, name: string): string | undefined {
  return headers[name]?.split(",").at(-1)?.trim() || undefined;
}
