import { readFileSync } from "node:fs";

/** A recorded call of a real client, with the response of the real Nova or Keystone. */
export interface RecordedCall {
  readonly recording: string;
  readonly service: "compute" | "identity";
  readonly method: string;
  readonly path: string;
  readonly request_headers: Readonly<Record<string, string>>;
  readonly request_body: unknown;
  readonly status: number;
  readonly response_headers: Readonly<Record<string, string>>;
  readonly response_body: unknown;
}

const FILE = new URL("../../../fixtures/golden/osc/calls.json", import.meta.url);

export function recordedCalls(service: RecordedCall["service"]): readonly RecordedCall[] {
  return (JSON.parse(readFileSync(FILE, "utf8")) as RecordedCall[]).filter((call) => call.service === service);
}

export type Body = Readonly<Record<string, unknown>>;
