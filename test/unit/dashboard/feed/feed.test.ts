import { beforeEach, describe, expect, it } from "vitest";
import { Feed, joinMessages } from "../../../../src/dashboard/feed.js";
import type { DashboardMessage, Kind } from "../../../../src/dashboard/wire/messages.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

let runtime: ReturnType<typeof createVirtualRuntime>;
let values: Map<string, unknown>;
let feed: Feed;
beforeEach(() => {
  runtime = createVirtualRuntime();
  values = new Map();
  feed = new Feed(runtime, (kind, key) => values.get(`${kind} ${key}`) as never);
});

function set(kind: Kind, key: string, value: unknown): void {
  values.set(`${kind} ${key}`, value);
  feed.changed(kind, key);
}

describe("Feed", () => {
  it("sends changed rows in their latest state, and removed rows", async () => {
    set("server", "one", 1);
    set("server", "one", 2);
    set("server", "two", 1);
    values.delete("server two");
    await runtime.advance(50);
    expect(feed.after(0)).toEqual([
      {
        seq: 1,
        at: expect.any(Number),
        set: [{ kind: "server", key: "one", value: 2 }],
        gone: [{ kind: "server", key: "two" }],
      },
    ]);
  });

  it("does not repeat an unchanged row, unless a snapshot was read since", async () => {
    set("server", "one", 1);
    await runtime.advance(50);
    set("server", "one", 1);
    await runtime.advance(50);
    expect(feed.seq).toBe(1);
    const end = feed.beginSnapshot();
    set("server", "one", 1);
    await runtime.advance(50);
    expect(feed.seq).toBe(2);
    set("server", "one", 1);
    end();
    await runtime.advance(50);
    expect(feed.seq).toBe(3);
  });

  it("repeats removals and requests, which it does not remember", async () => {
    for (let round = 0; round < 2; round += 1) {
      feed.changed("server", "gone");
      set("request", "one", { id: "one" });
      await runtime.advance(50);
    }
    const update = { set: [{ kind: "request", key: "one" }], gone: [{ kind: "server", key: "gone" }] };
    expect(feed.after(0)).toMatchObject([update, update]);
  });

  it("buffers a limited number of characters; a reader further behind starts again", async () => {
    for (let round = 0; round < 20; round += 1) {
      set("server", "one", `${round}${"x".repeat(1024 * 1024)}`);
      await runtime.advance(50);
    }
    expect(feed.after(0)).toBeUndefined();
    expect(feed.after(19)).toHaveLength(1);
    expect(feed.after(20)).toEqual([]);
    expect(feed.after(21)).toBeUndefined();
    expect(JSON.stringify(feed.after(13)).length).toBeLessThan(9 * 1024 * 1024);
  });

  it("forgets its state without readers, so that none continues from it", async () => {
    set("server", "one", 1);
    await runtime.advance(50);
    set("server", "one", 2);
    feed.clear();
    await runtime.advance(50);
    expect([feed.after(0), feed.after(1), feed.after(feed.seq)]).toEqual([undefined, undefined, []]);
  });
});

it("merges messages into the last value of each key", () => {
  const message = (seq: number, more: Partial<DashboardMessage>): DashboardMessage => ({
    seq,
    at: seq,
    set: [],
    gone: [],
    ...more,
  });
  const row = (key: string, value: readonly string[]) => ({ kind: "traits" as const, key, value });
  const gone = (key: string) => ({ kind: "traits" as const, key });
  expect(
    joinMessages([
      message(1, { set: [row("a", ["1"]), row("b", ["1"])] }),
      message(2, { set: [row("a", ["2"])], gone: [gone("b"), gone("c")] }),
      message(3, { set: [row("c", ["3"])] }),
    ]),
  ).toEqual(message(3, { set: [row("a", ["2"]), row("c", ["3"])], gone: [gone("b")] }));
  expect(joinMessages([])).toBeUndefined();
});
