import { expect, test } from "vitest";
import { OutgoingMigrations } from "../../../../src/agent/operations/flow/outgoing-migrations.js";
import { IncomingMoves } from "../../../../src/agent/operations/flow/unfinished-work.js";
import type { AgentServices } from "../../../../src/agent/services.js";
import { registerLifecycleListener } from "../../../../src/agent/startup/lifecycle-events.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import type { LifecycleEvent } from "../../../../src/virt/context.js";

function listening() {
  const runtime = createVirtualRuntime();
  const calls: string[] = [];
  const conductor = { call: async (method: string) => void calls.push(method) };
  const context = { conductor, runtime, config: { defaults: { maxConcurrentLiveMigrations: 1 } } };
  const outgoing = new OutgoingMigrations(context as never);
  const incoming = new IncomingMoves();
  let listener: (event: LifecycleEvent) => void = () => {};
  registerLifecycleListener({
    ...context,
    config: { workarounds: { handleVirtLifecycleEvents: true } },
    logger: runtime.logger,
    driver: {
      setLifecycleListener: (callback: typeof listener) => {
        listener = callback;
      },
    },
    operations: { outgoing, incoming },
  } as unknown as AgentServices);
  const hear = async (transition: LifecycleEvent["transition"]) => {
    calls.length = 0;
    listener({ uuid: "vm", transition } as LifecycleEvent);
    await new Promise((resolve) => setImmediate(resolve));
    return [...calls];
  };
  return { hear, incoming, outgoing };
}

test("8.5 news of a guest that comes to this host asks for no records until its move is over", async () => {
  const { hear, incoming } = listening();
  incoming.begin(7, "vm");
  expect(await hear("resumed")).toEqual([]);
  incoming.end(7);
  expect(await hear("resumed")).toEqual(["instance_get"]);
});

test("8.5 news of a guest that leaves asks for none, but that it runs elsewhere already is written", async () => {
  const { hear, outgoing } = listening();
  await outgoing.working("vm", 7, async (entry) => {
    entry.phase = "running";
    expect(await hear("paused")).toEqual([]);
    expect(await hear("migration_completed")).toEqual([]);
    expect(await hear("postcopy_started")).toEqual(["migration_save"]);
  });
  expect(await hear("stopped")).toEqual(["instance_get"]);
});
