import { UnexpectedResponseError } from "./errors.js";

/** A version range as a service tells it: majors are always the same, so only minors count. */
export interface Range {
  readonly minimum: number;
  readonly maximum: number;
}

/** What this client knows of a service: it is used at `most`, or at less where less is offered, down to `least`. */
export interface Knows {
  readonly least: number;
  readonly most: number;
  /** Why `least`: what that version brought. */
  readonly because: string;
}

/** @throws {UnexpectedResponseError} the service is too old */
export function negotiate(service: string, major: number, range: Range, knows: Knows): number {
  const agreed = Math.min(range.maximum, knows.most);
  if (agreed >= knows.least && range.minimum <= agreed) {
    return agreed;
  }
  throw new UnexpectedResponseError(
    `${service} offers microversions ${major}.${range.minimum} to ${major}.${range.maximum}; ` +
      `at least ${major}.${knows.least} is needed (${knows.because})`,
  );
}

/** The minor of `2.79`; undefined: no such text. */
export function minorOf(text: unknown): number | undefined {
  const match = typeof text === "string" ? /^\d+\.(\d+)$/.exec(text) : null;
  return match ? Number(match[1]) : undefined;
}
