import { describe, expect, test, vi } from "vitest";
import { hostOf, UUID } from "./fixtures.js";

describe("8.5 lifecycle events", () => {
  const event = { timestamp: 1, uuid: UUID, name: "instance-0000002a", transition: "started" };

  test("are delivered in order, after emitEvent returned", async () => {
    const { host, emit, runtime } = await hostOf();
    const received: string[] = [];
    host.setLifecycleListener(({ transition }) => void received.push(transition));
    emit(event);
    emit({ ...event, transition: "stopped" });
    expect(received).toEqual([]);
    await runtime.advance(0);
    expect(received).toEqual(["started", "stopped"]);
  });

  test("without a listener are dropped", async () => {
    const { emit, runtime } = await hostOf();
    emit(event);
    await runtime.advance(0);
    expect(runtime.logs).toEqual([]);
  });

  test.each([
    ["a lifecycle event", undefined],
    ["a lifecycle event", "started"],
    ["a timestamp in milliseconds", { ...event, timestamp: "now" }],
    ["the guest's uuid", { ...event, uuid: "vm1" }],
    ["the guest's name", { ...event, name: 3 }],
    ["a transition of started", { ...event, transition: "exploded" }],
  ])("that are invalid are logged and dropped: %s", async (rule, rubbish) => {
    const { host, emit, runtime } = await hostOf();
    const listener = vi.fn();
    host.setLifecycleListener(listener);
    emit(rubbish);
    await runtime.advance(0);
    expect(listener).not.toHaveBeenCalled();
    expect(runtime.logs).toEqual([
      expect.objectContaining({
        level: "warn",
        message: expect.stringContaining(`driver broken: emitEvent must be called with ${rule}`),
      }),
    ]);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("handler");
      },
    ],
    ["rejects", () => Promise.reject(new Error("handler"))],
  ])("the error of a listener that %s is logged", async (_, listener) => {
    const { host, emit, runtime } = await hostOf();
    host.setLifecycleListener(listener);
    emit(event);
    await runtime.advance(0);
    expect(runtime.logs).toMatchObject([{ level: "error", message: "the handler of lifecycle event started failed" }]);
  });
});
