import { expect, test } from "vitest";
import type { Instance } from "../../../src/virt/index.js";
import { hostOf, instanceOf, OTHER_UUID, UUID } from "./fixtures.js";

function noting() {
  const requestIds: (string | undefined)[] = [];
  const powerOn = async (_: Instance, options?: { readonly requestId?: string }) =>
    void requestIds.push(options?.requestId);
  return { requestIds: requestIds, powerOn };
}

function deferred() {
  let resolve = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve: () => resolve() };
}

test("a driver gets the request on whose behalf it is called, for that guest and during that request", async () => {
  const { requestIds, powerOn } = noting();
  const { host } = await hostOf({ powerOn });
  await host.onBehalf(UUID, "req-1", async () => {
    await host.powerOn(instanceOf());
    await host.powerOn(instanceOf({ uuid: OTHER_UUID }));
    await host.onBehalf(UUID, "req-2", () => host.powerOn(instanceOf()));
    await host.powerOn(instanceOf());
  });
  await host.powerOn(instanceOf());
  expect(requestIds).toEqual(["req-1", undefined, "req-2", "req-1", undefined]);
});

test("a failed request is removed as well", async () => {
  const { requestIds, powerOn } = noting();
  const { host } = await hostOf({ powerOn });
  const failed = host.onBehalf(UUID, "req-1", () => Promise.reject(new Error("no")));
  await expect(failed).rejects.toThrow("no");
  await host.powerOn(instanceOf());
  expect(requestIds).toEqual([undefined]);
});

test("an abandoned call is logged with its request", async () => {
  const deferredCall = deferred();
  const { host, runtime } = await hostOf(
    { powerOn: () => deferredCall.promise },
    { timeouts: { powerOn: 100 }, grace: 100 },
  );
  const work = host.onBehalf(UUID, "req-1", () => host.powerOn(instanceOf()));
  await expect(runtime.runUntil(work)).rejects.toThrow("powerOn must settle within 100 ms");
  deferredCall.resolve();
  await runtime.advance(1);
  expect(runtime.logs.map(({ fields }) => fields)).toContainEqual(
    expect.objectContaining({ method: "powerOn", instance: UUID, request_id: "req-1" }),
  );
});
