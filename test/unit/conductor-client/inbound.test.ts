import { describe, expect, it } from "vitest";
import { Inbound } from "../../../src/conductor-client/inbound.js";
import type { Link } from "../../../src/conductor-client/link.js";
import { RPC_CODES } from "../../../src/conductor-client/wire.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";

/** Returns the response of a host that serves one method. */
async function callHost(method: string): Promise<unknown> {
  const { clock, logger, runUntil } = createVirtualRuntime();
  const inbound = new Inbound({ clock, logger });
  inbound.serve("devstack1", { list_guests: async () => [] });
  const reply = new Promise<object>((resolve) => {
    const link: Pick<Link, "send"> = { send: resolve };
    inbound.take({ jsonrpc: "2.0", id: 1, method, params: {}, meta: { host: "devstack1" } }, link as Link);
  });
  return runUntil(reply);
}

describe("a request of the conductor", () => {
  it("is passed to the host's handler of the method", async () => {
    expect(await callHost("list_guests")).toEqual({ jsonrpc: "2.0", id: 1, result: [] });
  });

  it.each(["get_host_uptime", "constructor", "toString", "__proto__"])(
    "is rejected if the method is unknown: %s",
    async (method) => {
      expect(await callHost(method)).toMatchObject({ error: { code: RPC_CODES.methodNotFound } });
    },
  );

  it("is handled once, however often it is repeated, until its callers have stopped waiting and many others have called", async () => {
    const { clock, logger, advance, runUntil } = createVirtualRuntime();
    const inbound = new Inbound({ clock, logger });
    let done = 0;
    const list_guests = async () => {
      done += 1;
      return [];
    };
    inbound.serve("devstack1", { list_guests });
    const ask = (call: string) =>
      runUntil(
        new Promise<object>((resolve) => {
          const link: Pick<Link, "send"> = { send: resolve };
          const meta = { host: "devstack1", call, timeout: 1_000 };
          inbound.take({ jsonrpc: "2.0", id: 1, method: "list_guests", params: {}, meta }, link as Link);
        }),
      );
    await ask("first");
    await ask("first");
    expect(done).toBe(1);
    await advance(1_001);
    for (let other = 0; other < 100; other += 1) {
      await ask(`other ${other}`);
    }
    await ask("first");
    expect(done).toBe(102);
    await ask("other 99");
    expect(done).toBe(102);
  });
});
