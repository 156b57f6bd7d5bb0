import { expect, onTestFinished, test } from "vitest";
import { Heartbeat } from "../../../../src/agent/lifecycle/heartbeat.js";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

test("2.5 row 1 a host is reported once its queue is read again, and not before", async () => {
  const runtime = createVirtualRuntime();
  const beats: boolean[] = [];
  const calls: string[] = [];
  let isRead = () => {};
  let settled = Promise.resolve();
  const context = {
    ...{ host: "h", runtime, logger: runtime.logger, config: { defaults: { reportInterval: 10 } } },
    conductor: { leaseSettled: () => settled, call: async (method: string) => void calls.push(method) },
    metrics: { heartbeat: (arrived: boolean) => void beats.push(arrived) },
  };
  const heartbeat = new Heartbeat(context as never, { id: 1 } as never);
  heartbeat.start();
  onTestFinished(() => heartbeat.stop());
  await runtime.advance(5_000);
  expect([calls.length, heartbeat.connected]).toEqual([1, true]);

  settled = new Promise((resolve) => {
    isRead = resolve;
  });
  await runtime.advance(25_000);
  expect([calls.length, beats, heartbeat.connected]).toEqual([1, [true, false], false]);
  isRead();
  await runtime.advance(5_000);
  expect([calls.length, heartbeat.connected]).toEqual([2, true]);
});

test("2.5 row 1 that no conductor answers is logged once until one does, all else each time", async () => {
  const runtime = createVirtualRuntime();
  const silent = new ConductorError("MessagingTimeout", "nobody answers");
  const gone = new ConductorError("ServiceNotFound", "no service");
  const replies = [silent, new ConductorError("ConductorUnreachable", "no way"), gone, gone, null, silent, null];
  const context = {
    ...{ host: "h", runtime, logger: runtime.logger, config: { defaults: { reportInterval: 10 } } },
    conductor: {
      leaseSettled: () => undefined,
      call: async () => {
        const error = replies.shift() ?? null;
        if (error !== null) {
          throw error;
        }
      },
    },
    metrics: { heartbeat: () => undefined },
  };
  const heartbeat = new Heartbeat(context as never, { id: 1 } as never);
  heartbeat.start();
  onTestFinished(() => heartbeat.stop());
  await runtime.advance(70_000);
  const logged = runtime.logs.map(({ level, fields }) => (fields.err as Error | undefined)?.name ?? level);
  expect(logged).toEqual([
    "MessagingTimeout",
    "ServiceNotFound",
    "ServiceNotFound",
    "info",
    "MessagingTimeout",
    "info",
  ]);
});
