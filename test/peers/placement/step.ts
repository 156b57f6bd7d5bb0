import type { Json } from "./json-text.js";

/** A request of a random sequence. */
export interface Step {
  readonly method: string;
  readonly path: string;
  readonly query: readonly (readonly [string, string])[];
  /** In addition to the token and the microversion. */
  readonly headers: Readonly<Record<string, string>>;
  /** If absent, there is no body and no content type. */
  readonly body?: Json;
  /** Truncates or extends the body's text, so that it is not JSON. */
  readonly broken?: "cut" | "comma" | "tail";
}

/** Returns `METHOD path?query headers body` on one line. */
export function describeStep(step: Step, body: string | undefined): string {
  const headers = Object.entries(step.headers).map(([name, value]) => `${name}: ${value}`);
  return `${step.method} ${step.path}${queryText(step)} [${headers.join("; ")}] ${body ?? ""}`;
}

export function queryText({ query }: Step): string {
  const text = query.map(([key, value]) => `${key}=${encodeURIComponent(value).replaceAll("%3A", ":")}`).join("&");
  return text === "" ? "" : `?${text}`;
}
