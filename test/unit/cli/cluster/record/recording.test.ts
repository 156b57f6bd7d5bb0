import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { playRecording } from "../../../../../src/cli/cluster/record/play-recording.js";
import { readRecording } from "../../../../../src/cli/cluster/record/recording.js";
import { IdMap } from "../../../../../src/cli/cluster/record/replay-session.js";
import { exitCodeOf } from "../../../../../src/cli/ui/exit-code.js";
import { administratorIn } from "../../../../../src/conductor-client/methods/cluster.js";
import type { Files } from "../../../../../src/runtime/files.js";
import { createVirtualRuntime } from "../../../../../src/simulation/virtual-world.js";
import { property } from "../../../../fixtures/property.js";

type Line = Readonly<Record<string, unknown>>;

const ID = "00000000-0000-4000-8000-000000000001";
const SERVER = { server: { id: ID, name: "vm", "OS-EXT-SRV-ATTR:host": "h1", min_count: 1 } };

/** One line of each kind, with all its fields. */
const LINES: readonly Line[] = [
  { recording: 2, version: "1", at: 1_000, cluster: "hosts: []" },
  {
    at: 1_100,
    caller: {
      ...administratorIn("demo"),
      applicationCredential: {
        id: "c",
        name: "c",
        unrestricted: false,
        accessRules: [{ service: "compute", method: "GET", path: "/v2.1/servers" }],
      },
    },
    method: "POST",
    path: "/compute/v2.1/servers",
    version: "compute 2.79",
    contentType: "application/json",
    body: SERVER,
    status: 202,
    answer: SERVER,
  },
  { at: 1_150, caller: null, method: "GET", path: "/compute/", bytes: 3, left: "too long", status: 401, answer: null },
  {
    at: 1_160,
    caller: administratorIn("demo"),
    method: "POST",
    path: "/identity/v3/users/ada/password",
    contentType: "application/json",
    body: { user: { password: "****", original_password: "****" } },
    status: 204,
    answer: null,
  },
  { at: 1_200, server: ID, place: "nova:h1" },
  { at: 1_300, run: ["host", "kill", "h1"] },
  { end: 2_000, held: { h1: { [ID]: { VCPU: 1 } } }, lost: 0 },
];

const VALUES: readonly unknown[] = [
  ...[undefined, null, true, -1, 1.5, 1e300, "", "\0", "\r\n", "text", "x".repeat(1_000_000)],
  ...[[], [null], [[]], {}, { server: null }, { servers: [null, 1, "x"] }, { user: "x" }, nested(100), nested(100_000)],
];

/** Creates nested arrays as text, since serializing that depth would overflow the stack. */
function nested(levels: number): { readonly text: string } {
  return { text: `${"[".repeat(levels)}${"]".repeat(levels)}` };
}

/** Returns the paths of all fields of a value, including nested ones. */
function pathsIn(value: unknown): readonly (readonly (string | number)[])[] {
  if (typeof value !== "object" || value === null) {
    return [];
  }
  const keys = Array.isArray(value) ? value.map((_, at) => at) : Object.keys(value);
  return keys.flatMap((key) => [[key], ...pathsIn((value as Line)[key]).map((path) => [key, ...path])]);
}

function withValue(value: unknown, [key, ...path]: readonly (string | number)[], other: unknown): unknown {
  if (key === undefined) {
    return other;
  }
  const copy = Array.isArray(value) ? [...value] : { ...(value as object) };
  (copy as Record<string | number, unknown>)[key] = withValue((value as Line)[key], path, other);
  return copy;
}

function textOf(value: unknown): string {
  const text = JSON.stringify(value, (_, each: unknown) =>
    typeof each === "object" && each !== null && "text" in each && !("at" in each) ? `NESTED${each.text}NESTED` : each,
  );
  return text.replace(/"NESTED([[\]]*)NESTED"/g, "$1");
}

function filesOf(text: string): Files {
  const files: Pick<Files, "stat" | "read"> = {
    stat: async () => ({ kind: "file", bytes: text.length, modified: 0 }) as never,
    read: async () => text,
  };
  return files as Files;
}

/** Reads the recording and replays it. @returns the error of a rejection; undefined: it was accepted */
async function rejectionOf(text: string): Promise<Error | undefined> {
  const runtime = createVirtualRuntime();
  const recording = await readRecording("/r.jsonl", filesOf(text)).catch((error: unknown) => error as Error);
  if (recording instanceof Error) {
    return recording;
  }
  const played = playRecording(recording, 1_000_000, {
    session: { request: async () => ({ status: 500, headers: {}, body: "nothing" }) },
    run: async () => undefined,
    ids: new IdMap(),
    runtime,
    signal: new AbortController().signal,
  });
  await runtime.advance(60_000);
  await played;
  return undefined;
}

describe("a recording", () => {
  it("is replayed if it is valid", async () => {
    expect(await rejectionOf(LINES.map((line) => `${JSON.stringify(line)}\n`).join(""))).toBeUndefined();
  });

  const cases = LINES.flatMap((line, at) => pathsIn(line).map((path) => ({ at, path })));
  property([fc.constantFrom(...cases), fc.constantFrom(...VALUES)], { numRuns: 600 })(
    "with any value in any of its fields is done again, or refused with the line's number and exit code 2",
    async ({ at, path }, value) => {
      const lines = LINES.map((line, index) => textOf(index === at ? withValue(line, path, value) : line));
      const rejection = await rejectionOf(lines.map((line) => `${line}\n`).join(""));
      if (rejection !== undefined) {
        expect(exitCodeOf(rejection)).toBe(2);
        expect(rejection.message).toMatch(new RegExp(`^/r\\.jsonl:${at + 1}: `));
        expect(rejection.message.length).toBeLessThan(500);
      }
    },
  );

  property([fc.nat(LINES.map((line) => JSON.stringify(line)).join("\n").length)], { numRuns: 100 })(
    "that was cut off anywhere is done as far as it goes, or refused",
    async (length) => {
      const recordingText = LINES.map((line) => `${JSON.stringify(line)}\n`).join("");
      const rejection = await rejectionOf(recordingText.slice(0, length));
      if (rejection !== undefined) {
        expect(exitCodeOf(rejection)).toBe(2);
        expect(rejection.message).toContain("/r.jsonl:1: found no beginning");
      }
    },
  );

  property([fc.array(fc.json({ maxDepth: 3 }), { maxLength: 5 }), fc.string()], { numRuns: 100 })(
    "with other lines is refused with the number of the first",
    async (others, garbage) => {
      const [first, second] = LINES.map((line) => JSON.stringify(line));
      const rejection = await rejectionOf(`${[first, second, ...others, garbage.replaceAll("\n", " ")].join("\n")}\n`);
      expect(rejection?.message).toMatch(/^\/r\.jsonl:[3-8]: /);
      expect(rejection && exitCodeOf(rejection)).toBe(2);
    },
  );

  it.each([
    ["a caller without roles", { caller: { ...administratorIn("demo"), roles: undefined } }, "request.caller.roles"],
    ["a method that is none", { method: "GET /" }, "request.method"],
    ["a header of two lines", { version: "compute\r\n2.1" }, "request.version"],
    ["a time in fifty years", { at: 1_600_000_000_000 }, "days after the beginning"],
  ])("is rejected for %s", async (_, more, wrong) => {
    const [first, request] = LINES;
    const rejection = await rejectionOf(
      [first, { ...request, ...more }].map((line) => `${JSON.stringify(line)}\n`).join(""),
    );
    expect(rejection?.message).toMatch(/^\/r\.jsonl:2: /);
    expect(rejection?.message).toContain(wrong);
  });
});
