import { expect, test } from "vitest";
import { exitCodeOf } from "../../../src/cli/ui/exit-code.js";
import { doing } from "../../fixtures/misdeeds/doing.js";
import { AT_START, AT_STOP, type Misdeed } from "../../fixtures/misdeeds/misdeeds.js";
import { Harness, type Run } from "../../unit/agent/support/harness.js";
import { addInstance, placed, uuidOf } from "../../unit/agent/support/records.js";

const [VM, OTHER] = [uuidOf(1), uuidOf(2)];
const DRIVER = "fake-memory";

/** Creates a server with its guest. */
async function server(harness: Harness, host: string, uuid: string): Promise<void> {
  const { node } = await harness.seed(host);
  addInstance(harness.store, uuid, { ...placed(node), powerState: 1 });
  await harness.allocate(uuid, node);
  harness.hypervisor(host).addGuest(uuid);
}

/** Returns the complete state of another host. */
async function neighbour(harness: Harness): Promise<unknown> {
  return {
    nodes: harness.store.computeNodes.byHost("devstack2"),
    server: harness.store.instances.get(OTHER),
    held: await harness.held(OTHER),
    guests: [...harness.hypervisor("devstack2").guests],
  };
}

/** Returns the messages that users see: the start's error, the agent's log, and the server's fault. */
function collectMessages(harness: Harness, run: Run): string {
  const logs = run.runtime.logs.map(
    ({ message, fields }) => `${message} ${String(fields.err ?? "")} ${JSON.stringify(fields)}`,
  );
  const fault = JSON.stringify(harness.store.instances.fault(VM) ?? "");
  return [String(run.agent.failure ?? ""), ...logs, fault].join("\n");
}

/** Asserts that one of these lines names the driver, its method, and the error. */
function expectNamed(harness: Harness, run: Run, { method, message }: Misdeed): void {
  const lines = collectMessages(harness, run).split("\n");
  const named = lines.filter((line) => line.includes(DRIVER) && line.includes(method));
  expect(
    named.filter((line) => message.test(line)),
    lines.join("\n"),
  ).not.toEqual([]);
}

const named = (rows: readonly Misdeed[]) => rows.map((each) => [each.what, each] as const);

test("8.10 there are thirty things that a driver does wrong, each here and in driver check", () => {
  expect(AT_START.length + AT_STOP.length).toBeGreaterThanOrEqual(30);
});

test.each(named(AT_START))(
  "8.10 at the start, %s: the agent lives or fails by name, and nothing of it is recorded, here or of another host",
  async (_, misdeed) => {
    const harness = await Harness.create({ checked: false });
    await server(harness, "devstack2", OTHER);
    const before = await neighbour(harness);
    const run = await harness.launch("devstack1", {
      driver: doing(misdeed.flaw, harness.hypervisor("devstack1").driver(DRIVER)),
    });
    void run.agent.start().catch(() => {});
    await harness.world.advance(400_000);
    expect(["serving", "failed", "guarding"]).toContain(run.agent.state);
    if (run.agent.state === "failed") {
      expect(exitCodeOf(run.agent.failure)).toBeGreaterThan(0);
    }
    expectNamed(harness, run, misdeed);
    const [node] = harness.store.computeNodes.byHost("devstack1");
    expect(node?.vcpus ?? 8).toBe(8);
    expect(await neighbour(harness)).toEqual(before);
  },
);

test.each(named(AT_STOP))(
  "8.10 when a server is stopped, %s: that request alone fails, and the agent serves on",
  async (_, misdeed) => {
    const harness = await Harness.create({ checked: false });
    await server(harness, "devstack1", VM);
    await server(harness, "devstack2", OTHER);
    const before = await neighbour(harness);
    let well = true;
    const driver = doing(misdeed.flaw, harness.hypervisor("devstack1").driver(DRIVER), () => well);
    const run = await harness.launch("devstack1", { driver, operations: "real" });
    await harness.world.runUntil(run.agent.start());
    well = false;
    harness.store.instances.save(VM, { taskState: "powering-off" });
    const { bus } = harness.controlPlane.conductor;
    bus.cast("devstack1", "stop_instance", { instanceUuid: VM, requestId: "req-1" }, "req-1");
    await harness.world.advance(1_800_000);
    expect(run.agent.state).toBe("serving");
    expectNamed(harness, run, misdeed);
    expect(await neighbour(harness)).toEqual(before);
    harness.store.instances.save(VM, { taskState: null });
    expect(
      await harness.world.runUntil(
        bus.call("devstack1", "set_host_enabled", { enabled: true }, { requestId: "req-2" }),
      ),
    ).toBe("enabled");
  },
);
