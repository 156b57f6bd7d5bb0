import { expect, it } from "vitest";
import { LogReaders, type LogTail } from "../../../src/dashboard/log-stream.js";
import type { LogFilter, LogRow } from "../../../src/dashboard/wire/logs.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";

const ROW: LogRow = {
  at: 0,
  source: "h1",
  level: "INFO",
  requestId: null,
  instance: null,
  message: "one",
  fields: [],
  more: [],
};

function openReaders(added: () => readonly LogRow[] = () => []) {
  const runtime = createVirtualRuntime();
  const filters: LogFilter[] = [];
  const closed: LogTail[] = [];
  const readers = new LogReaders(async (filter) => {
    filters.push(filter);
    const tail: LogTail = {
      names: ["h1"],
      problem: null,
      last: async () => ({ rows: [ROW], dropped: 0, searchedBytes: 10, isComplete: true }),
      added: async () => ({ rows: added(), dropped: 0 }),
      close: () => closed.push(tail),
    };
    return tail;
  }, runtime);
  const end = new AbortController();
  const open = (query: string) => readers.stream({ query }, { ended: end.signal });
  const read = async (stream: AsyncIterator<Uint8Array>): Promise<string> => {
    const { value } = await stream.next();
    return new TextDecoder().decode(value as Uint8Array);
  };
  return { runtime, filters, closed, end, open, read };
}

it("sends the last entries, then added ones, and the reason of the session's end", async () => {
  let rows: readonly LogRow[] = [];
  const { runtime, filters, closed, end, open, read } = openReaders(() => rows);
  const { status, bytes } = open("host=h1&level=WARNING&request=req-1&q=some%20text");
  const stream = (bytes as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  expect([status, await read(stream)]).toEqual([200, 'event: begin\ndata: {"names":["h1"],"problem":null}\n\n']);
  expect(await read(stream)).toMatch(/^event: last\ndata: .*"message":"one".*"isComplete":true/);
  expect(filters).toEqual([{ host: "h1", level: "WARNING", request: "req-1", text: "some text" }]);
  rows = [{ ...ROW, message: "two" }];
  const added = read(stream);
  await runtime.advance(200);
  expect(await added).toMatch(/^event: added\ndata: .*"message":"two"/);
  rows = [];
  const quiet = read(stream);
  await runtime.advance(11_000);
  expect(await quiet).toBe(": nothing new\n\n");
  const bye = read(stream);
  end.abort("the session was ended");
  expect(await bye).toBe('event: bye\ndata: {"reason":"the session was ended"}\n\n');
  expect([(await stream.next()).done, closed.length]).toEqual([true, 1]);
});

it("rejects unknown levels and long filters, and more readers than there may be", () => {
  const { open } = openReaders();
  expect(open("level=LOUD")).toMatchObject({ status: 400, body: expect.stringContaining("expected DEBUG, INFO") });
  expect(open(`q=${"x".repeat(300)}`)).toMatchObject({ status: 400 });
  const statuses = Array.from({ length: 11 }, () => open("").status);
  expect([statuses.slice(0, 10).every((status) => status === 200), statuses[10]]).toEqual([true, 503]);
});
