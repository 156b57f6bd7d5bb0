import { afterEach, beforeEach, expect, it } from "vitest";
import { HostReport, HostsReport, type Report } from "../../../../src/cli/agent/host-reports.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

/** Messages sent to the parent. */
let messages: unknown[];
const own = (["send", "connected"] as const).map(
  (name) => [name, Object.getOwnPropertyDescriptor(process, name)] as const,
);

beforeEach(() => {
  messages = [];
  Object.defineProperties(process, {
    send: { value: (message: unknown) => messages.push(message) > 0, configurable: true },
    connected: { value: true, configurable: true },
  });
});
afterEach(() => {
  for (const [name, descriptor] of own) {
    Object.defineProperty(process, name, descriptor ?? { value: undefined, configurable: true });
  }
});

/** Returns the last message about the process after a reconnection. */
function lastAfter(report: Report): unknown {
  messages = [];
  report.connectedAgain();
  return messages.at(-1);
}

it("hosts that waited for the control plane are reported in their last state when it responds", () => {
  const single = new HostReport(createVirtualRuntime());
  expect(lastAfter(single)).toBeUndefined();
  single.progress("h1", "starting");
  expect(lastAfter(single)).toBeUndefined();
  single.progress("h1", "serving");
  expect(lastAfter(single)).toMatchObject({ type: "component", state: "ready" });

  const pool = new HostsReport(createVirtualRuntime());
  pool.changed({ host: "h1", state: "serving", detail: "", exitCode: null, error: null });
  expect(lastAfter(pool)).toBeUndefined();
  pool.started();
  expect(lastAfter(pool)).toMatchObject({ type: "component", state: "ready" });
});
