import { expect, it } from "vitest";
import { OwnServices } from "../../../../src/cluster/conductor/own-services.js";
import { memoryStore } from "../store/support.js";

it("goes on with the rows that an earlier start has made, of its own host only", async () => {
  const { store, runtime } = await memoryStore();
  const start = (host: string) => new OwnServices({ store, host, runtime, reportInterval: 10 });
  start("ctl");
  const before = store.services.list();
  expect(before.map(({ binary, topic, host }) => [binary, topic, host])).toEqual([
    ["nova-scheduler", "scheduler", "ctl"],
    ["nova-conductor", "conductor", "ctl"],
  ]);
  start("ctl");
  expect(store.services.list()).toEqual(before);
  start("other");
  expect(store.services.list()).toHaveLength(4);
});

it("beats after 5 seconds and then at the interval, until it is stopped", async () => {
  const { store, runtime } = await memoryStore();
  const own = new OwnServices({ store, host: "ctl", runtime, reportInterval: 10 });
  const counts = () => store.services.list().map(({ reportCount }) => reportCount);
  own.start();
  await runtime.advance(4_999);
  expect(counts()).toEqual([0, 0]);
  await runtime.advance(30_001);
  expect(counts()).toEqual([4, 4]);
  own.stop();
  await runtime.advance(60_000);
  expect(counts()).toEqual([4, 4]);
});
