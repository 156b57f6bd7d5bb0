import { describe, expect, it } from "vitest";
import { Activity } from "../../../../src/simulation/local/activity.js";
import { RealTime, VirtualTime } from "../../../../src/simulation/local/local-time.js";

describe("virtual time", () => {
  it("passes only when advanced, and runs events in order", async () => {
    const time = new VirtualTime(new Activity());
    const begin = time.clock.now();
    const observedTimes: number[] = [];
    const note = (): void => void observedTimes.push(time.clock.now() - begin);
    time.plan(300, note);
    time.plan(100, () => {
      note();
      time.plan(50, note);
    });
    const cancel = time.plan(200, note);
    cancel();
    await time.advance(250);
    expect(observedTimes).toEqual([100, 150]);
    expect(time.clock.monotonic()).toBe(250);
    await time.advance(50);
    expect(observedTimes).toEqual([100, 150, 300]);
  });

  it("serializes concurrent advances", async () => {
    const time = new VirtualTime(new Activity());
    await Promise.all([time.advance(100), time.advance(200)]);
    expect(time.clock.monotonic()).toBe(300);
  });

  it("waits at each point in time for work in progress", async () => {
    const activity = new Activity();
    const time = new VirtualTime(activity);
    const events: string[] = [];
    time.plan(
      10,
      () =>
        void activity
          .during(async () => void events.push("read"))
          .then(() => activity.soon(() => void events.push("taken"))),
    );
    time.plan(11, () => void events.push("next"));
    await time.advance(20);
    expect(events).toEqual(["read", "taken", "next"]);
  });

  it("advances to the next event", async () => {
    const time = new VirtualTime(new Activity());
    time.plan(500, () => undefined);
    expect(await time.next(100)).toBe(false);
    expect(time.clock.monotonic()).toBe(0);
    expect(await time.next(1_000)).toBe(true);
    expect(time.clock.monotonic()).toBe(500);
  });

  it("skips time for recurring work, which runs once; everything else is postponed", async () => {
    const time = new VirtualTime(new Activity());
    const begin = time.clock.now();
    const events: string[] = [];
    const beat = (): void => {
      events.push(`beat ${time.skippable.clock.monotonic()}`);
      time.skippable.plan(100, beat);
    };
    time.skippable.plan(100, beat);
    time.plan(150, () => void events.push(`other ${time.clock.monotonic()}`));
    const cancel = time.skippable.plan(500, () => expect.fail("it was cancelled"));
    await time.advance(50);
    await time.skip(1_000);
    cancel();
    expect(events).toEqual([]);
    expect([time.clock.now() - begin, time.clock.monotonic()]).toEqual([1_050, 50]);
    await time.advance(100);
    expect(events).toEqual(["beat 1050", "other 150", "beat 1150"]);
  });

  it("has no events left once it is closed", async () => {
    const time = new VirtualTime(new Activity());
    time.plan(10, () => expect.fail("it was closed"));
    time.close();
    await time.advance(20);
  });
});

describe("real time", () => {
  it("has no timers left once it is closed", async () => {
    const time = new RealTime(new Activity());
    time.plan(1, () => expect.fail("it was closed"));
    time.close();
    await new Promise<void>((resolve) => void new RealTime(new Activity()).plan(5, resolve));
  });
});
