import { expect, it } from "vitest";
import { asRecord, LogSource, merged, type NamedEntry } from "../../../../../src/cli/cluster/logs/log-source.js";
import { parseSince } from "../../../../../src/cli/cluster/logs/logs-command.js";

/** Creates a log that is read in batches of two lines. */
function logOf(...lines: string[]) {
  return {
    async *newLines() {
      for (let at = 0; at < lines.length; at += 2) {
        yield lines.slice(at, at + 2);
      }
    },
  };
}
const all = () => true;

async function taken(...sources: LogSource[]): Promise<readonly NamedEntry[]> {
  const entries: NamedEntry[] = [];
  for await (const entry of merged(sources)) {
    entries.push(entry);
  }
  return entries;
}

it("logs are merged by time, each in its own order, with continuation lines", async () => {
  const control = logOf(
    "listening",
    "2026-11-25 10:00:01.000 1 INFO a",
    "2026-11-25 10:00:03.000 1 ERROR c",
    "    at one",
    "    at two",
    "2026-11-25 10:00:02.000 1 INFO the clock was set back",
    "2026-11-25 10:00:05.000 1 INFO e",
  );
  const json = JSON.stringify({ level: 30, time: new Date(2026, 10, 25, 10, 0, 2).getTime(), message: "b" });
  const entries = await taken(new LogSource("control-plane", control, all), new LogSource("h1", logOf(json), all));
  expect(entries.map(({ source, lines }) => [source, lines.length, lines[0]?.slice(-20)])).toEqual([
    ["control-plane", 1, "10:00:01.000 1 INFO a"].map((text, at) => (at === 2 ? String(text).slice(-20) : text)),
    ["h1", 1, json.slice(-20)],
    ["control-plane", 3, "0:00:03.000 1 ERROR c".slice(-20)],
    ["control-plane", 1, "the clock was set back".slice(-20)],
    ["control-plane", 1, "10:00:05.000 1 INFO e".slice(-20)],
  ]);
});

it("the stack of a rejected entry is rejected too, even if it is read later", async () => {
  const polls = [logOf("2026-11-25 10:00:01.000 1 ERROR of h10", "    at one"), logOf("    at two")];
  let look = 0;
  const file = { newLines: () => (polls[look++] ?? logOf()).newLines() };
  const source = new LogSource("h1", file, ({ lines: [first = ""] }) => first.includes("h1 "));
  expect([...(await taken(source)), ...(await taken(source))]).toEqual([]);
});

it("entries of both formats become JSON records", () => {
  const time = new Date(2026, 10, 25, 10, 0, 1, 5).getTime();
  const fields = { request_id: "req-1", instance: "i-1", ms: 3.5, path: "/a?b=c", host: "h1" };
  const json = { level: 30, time, pid: 7, ...fields, message: "request" };
  const pretty = '2026-11-25 10:00:01.005 7 INFO [req-1] [instance: i-1] request ms=3.5 path="/a?b=c" host=h1';
  const expected = { time: new Date(time).toISOString(), level: "INFO", pid: 7, ...fields, message: "request" };
  expect(asRecord({ time, lines: [JSON.stringify(json)] })).toEqual(expected);
  expect(asRecord({ time, lines: [pretty] })).toEqual(expected);
  expect(asRecord({ time, lines: ["{half", "more"] })).toEqual({
    time: expected.time,
    message: "{half",
    more: ["more"],
  });
});

it("--since accepts durations and dates, and nothing else", () => {
  const now = Date.UTC(2026, 10, 25, 12);
  expect(["90s", "10m", "2h", "1d", "0.5h"].map((text) => now - (parseSince(text, now) ?? 0))).toEqual([
    90_000, 600_000, 7_200_000, 86_400_000, 1_800_000,
  ]);
  expect(parseSince("2026-11-25T11:00:00Z", now)).toBe(now - 3_600_000);
  expect(parseSince("2026-11-25 11:00", now)).toBe(new Date(2026, 10, 25, 11).getTime());
  expect(parseSince("2026-11-25", now)).toBe(new Date(2026, 10, 25).getTime());
  for (const wrong of ["", "10", "m", "-1h", "yesterday", "2026-13-45", "1h30m"]) {
    expect([wrong, parseSince(wrong, now)]).toEqual([wrong, undefined]);
  }
});
