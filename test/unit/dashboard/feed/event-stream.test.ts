import { expect, it } from "vitest";
import { eventStream, type Viewer } from "../../../../src/dashboard/event-stream.js";
import { Feed } from "../../../../src/dashboard/feed.js";
import type { DashboardMessage, DashboardRow } from "../../../../src/dashboard/wire/messages.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

const runtime = createVirtualRuntime();

/** Reads a stream like a browser that accepts each event at once, and records the steps in between. */
function follow({ rows, cost, viewer }: { rows: number; cost: number; viewer?: Partial<Viewer> }) {
  const steps: string[] = [];
  const feed = new Feed(runtime, () => null);
  let now = 0;
  function* all(): Generator<DashboardRow> {
    for (let row = 0; row < rows; row += 1) {
      now += cost;
      yield { kind: "heartbeat", key: `host${row}`, value: row };
    }
  }
  const timers = {
    after: () => () => undefined,
    sleep: async (ms: number) => {
      steps.push(`slept ${ms}`);
    },
  };
  const stream = eventStream(
    feed,
    all,
    { clock: { monotonic: () => now }, timers },
    {
      since: undefined,
      hello: {} as Viewer["hello"],
      life: "life",
      signal: new AbortController().signal,
      onEnd: () => steps.push("ended"),
      ...viewer,
    },
  );
  const take = async (): Promise<string> => {
    const { value, done } = await stream.next();
    const text = done ? "end" : new TextDecoder().decode(value);
    const event = done ? "end" : (/^event: (.*)$/m.exec(text)?.[1] ?? "message");
    steps.push(
      event === "message"
        ? `${(JSON.parse(text.split("data: ")[1] ?? "") as DashboardMessage).set.length} rows`
        : event,
    );
    return event;
  };
  return { feed, steps: steps, take };
}

it("a snapshot is sent in batches of rows, with an event-loop tick after each", async () => {
  const { steps, take } = follow({ rows: 450, cost: 0 });
  while ((await take()) !== "ready") {}
  expect(steps).toEqual(["hello", "200 rows", "slept 0", "200 rows", "slept 0", "50 rows", "slept 0", "ready"]);
});

it("rows that are slow to read are sent in smaller batches of at most six milliseconds", async () => {
  const { steps, take } = follow({ rows: 20, cost: 1 });
  while ((await take()) !== "ready") {}
  const pieces = steps.filter((turn) => turn.endsWith("rows"));
  expect(pieces).toEqual(["6 rows", "6 rows", "6 rows", "2 rows"]);
  expect(steps.filter((turn) => turn === "slept 0")).toHaveLength(pieces.length);
});

it("a browser that is slower than the buffer is disconnected without a close message, so that it reconnects", async () => {
  const { feed, steps, take } = follow({ rows: 0, cost: 0 });
  while ((await take()) !== "ready") {}
  feed.clear();
  feed.clear();
  await take();
  expect(steps).toEqual(["hello", "ready", "ended", "end"]);
});
