import { describe, expect, it } from "vitest";
import { Inbound } from "../../../src/conductor/inbound.js";
import type { Link } from "../../../src/conductor/link.js";
import { RPC_CODES } from "../../../src/conductor/wire/frames.js";
import { createVirtualRuntime } from "../../../src/simulation/create-virtual-runtime.js";

/** The answer of a host that serves one method. */
async function answerTo(method: string): Promise<unknown> {
  const { clock, logger, runUntil } = createVirtualRuntime();
  const inbound = new Inbound({ clock, logger });
  inbound.serve("devstack1", { list_guests: async () => [] });
  const answer = new Promise<object>((resolve) => {
    const link: Pick<Link, "send"> = { send: resolve };
    inbound.take({ jsonrpc: "2.0", id: 1, method, params: {}, meta: { host: "devstack1" } }, link as Link);
  });
  return runUntil(answer);
}

describe("what the conductor asks", () => {
  it("goes to the host's handler of the method", async () => {
    expect(await answerTo("list_guests")).toEqual({ jsonrpc: "2.0", id: 1, result: [] });
  });

  it.each(["get_host_uptime", "constructor", "toString", "__proto__"])(
    "is refused when it is no method: %s",
    async (method) => {
      expect(await answerTo(method)).toMatchObject({ error: { code: RPC_CODES.methodNotFound } });
    },
  );
});
