import { expect, it } from "vitest";
import { registerOwnServices } from "../../../../src/control-plane/conductor/own-services.js";
import { SERVICE_VERSION } from "../../../../src/records/index.js";
import { memoryStore } from "../store/support.js";

it("reuses the rows that an earlier start created for the same host", async () => {
  const { store, runtime } = await memoryStore();
  const start = (host: string) => registerOwnServices({ store, host, runtime, reportInterval: 10 });
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

it("sends heartbeats after 5 seconds and then at the interval, until it is stopped", async () => {
  const { store, runtime } = await memoryStore();
  const own = registerOwnServices({ store, host: "ctl", runtime, reportInterval: 10 });
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

it("logs a failing heartbeat once, and again after one that succeeded", async () => {
  const { store, runtime } = await memoryStore();
  const own = registerOwnServices({ store, host: "ctl", runtime, reportInterval: 10 });
  const [first] = store.services.list();
  const { reportState } = store.services;
  const failures = () => runtime.logs.filter(({ level }) => level === "error").map(({ fields }) => fields.id);
  let broken = true;
  store.services.reportState = (id) => {
    if (broken && id === first?.id) {
      throw new Error("disk I/O error");
    }
    return reportState.call(store.services, id);
  };
  own.start();
  await runtime.advance(25_000);
  expect(failures()).toEqual([first?.id]);
  expect(store.services.list().map(({ reportCount }) => reportCount)).toEqual([0, 3]);
  broken = false;
  await runtime.advance(10_000);
  broken = true;
  await runtime.advance(20_000);
  expect(failures()).toEqual([first?.id, first?.id]);
  own.stop();
});

it("updates a row of another version", async () => {
  const { store, runtime } = await memoryStore();
  const row = store.services.create({
    host: "ctl",
    binary: "nova-conductor",
    topic: "conductor",
    version: SERVICE_VERSION - 1,
  });
  registerOwnServices({ store, host: "ctl", runtime, reportInterval: 10 });
  expect(store.services.list().find(({ id }) => id === row.id)?.version).toBe(SERVICE_VERSION);
});
