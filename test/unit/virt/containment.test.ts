import { expect, test } from "vitest";
import { nodeScope } from "../../../src/runtime/node/node-builtins.js";
import { type ContainedCall, Containment, type UnhandledError } from "../../../src/virt/containment.js";
import { createDriverHost } from "../../../src/virt/create-driver-host.js";
import { placeOf } from "../../../src/virt/driver-error.js";
import { VirtDriverMisbehaved } from "../../../src/virt/errors.js";
import { type DriverContext, defineDriver } from "../../../src/virt/index.js";
import { driverWith, instanceOf, spawnOptions, UUID, virtualContext } from "./fixtures.js";

/** Creates a contained driver with these methods. */
async function contained(
  changes: (context: DriverContext, containment: Containment) => Readonly<Record<string, unknown>>,
) {
  const { runtime, context } = virtualContext();
  const containment = new Containment(nodeScope<ContainedCall>(), runtime.clock);
  const definition = defineDriver({
    name: "broken",
    apiVersion: "1.0",
    create: (driverContext) => Object.freeze(driverWith(changes(driverContext, containment))),
  });
  const host = await createDriverHost(containment.over(definition), context);
  return { runtime, containment, host };
}

test("8.10 a driver's code is attributed to its call, even in timers and after awaits; the core's own code to none", async () => {
  const currentCalls: (ContainedCall | undefined)[] = [];
  const { host, containment, runtime } = await contained(({ timers }) => ({
    powerOn: async () => {
      currentCalls.push(containment.current);
      timers.after(10, () => currentCalls.push(containment.current));
      await timers.sleep(5);
      currentCalls.push(containment.current);
    },
  }));
  const done = host.onBehalf(UUID, "req-1", () => host.powerOn(instanceOf()));
  expect(containment.current).toBeUndefined();
  await runtime.advance(20);
  await done;
  expect(containment.current).toBeUndefined();
  const call = {
    driver: "broken",
    method: "powerOn",
    context: expect.anything(),
    instance: UUID,
    requestId: "req-1",
    began: expect.any(Number),
  };
  expect(currentCalls).toEqual([call, call, call]);
});

test("8.10 an unhandled rejection fails the call: its signal is aborted, and it is abandoned if it does not settle", async () => {
  let unhandledError: UnhandledError | null = null;
  let aborted = false;
  const { host, runtime } = await contained((_, containment) => ({
    spawn: (_instance: unknown, { signal }: { readonly signal: AbortSignal }) => {
      signal.addEventListener("abort", () => {
        aborted = true;
      });
      unhandledError = containment.recordUnhandled("rejection", new Error("boom"));
      return new Promise(() => {});
    },
  }));
  const spawned = host.spawn(instanceOf(), spawnOptions).catch((error: unknown) => error);
  await runtime.advance(0);
  // The method was still pending when the rejection occurred.
  expect(unhandledError).toMatchObject({ failsCall: true, kind: "rejection" });
  await runtime.advance(5_000);
  const error = await spawned;
  expect(aborted).toBe(true);
  expect(error).toBeInstanceOf(VirtDriverMisbehaved);
  expect(String(error)).toContain(
    "driver broken: spawn must handle every rejection of its own promises, but it left one unhandled: Error: boom",
  );
});

test("8.10 a call with an unhandled error fails even if it then succeeds; a call that has already ended is not affected", async () => {
  let late: UnhandledError | null = null;
  const { host, runtime } = await contained(({ timers }, containment) => ({
    powerOff: async () => {
      await timers.sleep(5);
      containment.recordUnhandled("exception", "oops");
    },
    powerOn: async () => {
      timers.after(5, () => {
        late = containment.recordUnhandled("exception", "late");
      });
    },
  }));
  const off = host.powerOff(instanceOf()).catch((error: unknown) => error);
  await runtime.advance(5);
  expect(String(await off)).toContain('powerOff must catch what its callbacks throw, but one threw: "oops"');
  const on = host.powerOn(instanceOf());
  await runtime.advance(5);
  await on;
  expect(late).toMatchObject({ failsCall: false, call: { method: "powerOn" } });
});

test("8.10 an error of the agent is not attributed to a driver, nor is an error of the core in a driver's callback", async () => {
  const owners: unknown[] = [];
  const { host, containment } = await contained(({ emitEvent }) => ({
    powerOn: async () => {
      emitEvent({ timestamp: 1, uuid: UUID, name: "vm", transition: "started" });
    },
    snapshot: async (
      _: unknown,
      _image: string,
      { updateTaskState }: { readonly updateTaskState: (stage: string) => Promise<void> },
    ) => {
      await updateTaskState("image_uploading");
      owners.push(containment.current?.method);
    },
  }));
  host.setLifecycleListener(async () => void owners.push(containment.current?.method));
  await host.powerOn(instanceOf());
  await null;
  const updateTaskState = async () => void owners.push(containment.current?.method);
  await host.snapshot(instanceOf(), "image", { updateTaskState });
  expect(owners).toEqual([undefined, undefined, "snapshot"]);
  expect(containment.recordUnhandled("rejection", new Error("own"))).toBeNull();
});

test("8.10 loading and creating a driver are calls as well", async () => {
  const { runtime } = virtualContext();
  const containment = new Containment(nodeScope<ContainedCall>(), runtime.clock);
  const methods: string[] = [];
  containment.onCall(({ method }) => methods.push(method));
  const loading = containment.load("./mine", async () => {
    containment.recordUnhandled("rejection", new Error("at import"));
    return new Promise(() => {});
  });
  await expect(loading).rejects.toThrow("driver ./mine: import must handle every rejection");
  expect(methods).toEqual(["import"]);
});

test("8.10 each line of a driver's log names the call that wrote it, even in child loggers and timers", async () => {
  const { host, runtime } = await contained(({ logger, timers }) => ({
    powerOn: async () => {
      logger.info("powering on", { node: "n1" });
      timers.after(10, () => logger.child({ part: "monitor" }).warn("it hesitates"));
    },
  }));
  await host.onBehalf(UUID, "req-1", () => host.powerOn(instanceOf()));
  await runtime.advance(20);
  const call = { driver: "broken", method: "powerOn", instance: UUID, request_id: "req-1" };
  expect(runtime.logs.map(({ message, fields }) => [message, fields])).toEqual([
    ["powering on", expect.objectContaining({ ...call, node: "n1" })],
    ["it hesitates", expect.objectContaining({ ...call, part: "monitor" })],
  ]);
});

test("8.10 an exception without a call is attributed to the driver whose file threw it, not to a package in its folder", async () => {
  const { runtime, context } = virtualContext();
  const containment = new Containment(nodeScope<ContainedCall>(), runtime.clock);
  const never = () => new Promise<void>(() => {});
  const definition = defineDriver({
    name: "broken",
    apiVersion: "1.0",
    create: () => driverWith({ powerOn: never, powerOff: never }),
  });
  const host = await createDriverHost(containment.over(definition, "/site/mine/dist/index.js"), context);
  const thrownAt = (place: string) =>
    Object.assign(new Error("boom"), { stack: `Error: boom\n    at process (node:internal:1:1)\n    at ${place}` });
  const whose = (place: string, kind: UnhandledError["kind"] = "exception") =>
    containment.recordUnhandled(kind, thrownAt(place))?.call;
  const [inDriver, below] = ["f (file:///site/mine/dist/lib/x.js:3:5)", "/site/mine/dist/node_modules/ws/index.js:1:1"];
  expect(whose(inDriver)).toMatchObject({ driver: "broken", method: "one of its calls" });
  expect(whose(below)).toBeUndefined();
  expect(whose("/site/other/index.js:1:1")).toBeUndefined();
  expect(whose(inDriver, "rejection")).toBeUndefined();
  const on = host.powerOn(instanceOf()).catch((error: unknown) => error);
  await runtime.advance(0);
  expect(whose(inDriver)).toMatchObject({ method: "powerOn", instance: UUID });
  const off = host.powerOff(instanceOf()).catch((error: unknown) => error);
  await runtime.advance(0);
  expect(whose(inDriver)).toMatchObject({ method: "one of its calls" });
  await runtime.advance(3_600_000);
  expect(await on).toBeInstanceOf(VirtDriverMisbehaved);
  await off;
});

test.each([
  ["f (/site/mine/dist/x.js:3:5)", "/site/mine/dist/x.js:3:5"],
  ["async f (file:///site/my driver/x.js:3:5)", "/site/my driver/x.js:3:5"],
  ["/site/mine/x.js:3:5", "/site/mine/x.js:3:5"],
  ["f (node:internal/modules/run_main:3:5)", undefined],
  ["f (compute-agent/table.js:3:5)", undefined],
])("8.10 the location of an error thrown at %s is %s", (frame, place) => {
  const error = Object.assign(new Error("boom"), { stack: `Error: boom\n    at ${frame}` });
  expect(placeOf(error)).toBe(place);
});
