import { expect } from "vitest";
import { lastCompletedPeriod, type TaskLog } from "../../../../src/records/index.js";
import type { Harness } from "../../../unit/agent/support/harness.js";
import { addInstance, placed, uuidOf } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

const HOUR = 3_600_000;
const options = { periodic_enable: true, periodic_fuzzy_delay: 0, instance_usage_audit_period: "hour" } as const;
const on = { config: { defaults: { ...options, instance_usage_audit: true } } };

/** Returns the task logs of the last hour, as the API would. */
function logs({ store, world }: Harness): readonly TaskLog[] {
  return store.taskLogs.list(lastCompletedPeriod("hour", world.now));
}

async function twoServers(harness: Harness): Promise<void> {
  const { node } = await harness.seed("devstack1");
  const launchedAt = harness.world.now;
  addInstance(harness.store, uuidOf(1), { ...placed(node), launchedAt });
  addInstance(harness.store, uuidOf(2), { ...placed(node), launchedAt });
  harness.hypervisor("devstack1").addGuest(uuidOf(1));
  harness.hypervisor("devstack1").addGuest(uuidOf(2));
}

scenario("4.10 _instance_usage_audit: each period once, also by an agent that starts again in it", async (harness) => {
  await twoServers(harness);
  const run = await harness.start("devstack1", on);
  await harness.world.advance(HOUR + 120_000);
  const [first, ...others] = logs(harness);
  expect(others).toEqual([]);
  expect(first).toMatchObject({ host: "devstack1", state: "DONE", taskItems: 2, errors: 0 });
  expect(first?.message).toMatch(/^Instance usage audit ran for host devstack1, 2 instances in [\d.]+ seconds\.$/);
  await harness.stop(run);
  const again = await harness.start("devstack1", on);
  await harness.world.advance(120_000);
  expect(again.runtime.logs.filter(({ message }) => message.includes("Running instance usage audit"))).toEqual([]);
  await harness.world.advance(HOUR);
  expect(logs(harness)).toMatchObject([{ state: "DONE", taskItems: 2 }]);
});

scenario("4.10 _instance_usage_audit: one that its agent's death has cut short is run again", async (harness) => {
  await twoServers(harness);
  const period = lastCompletedPeriod("hour", harness.world.now + HOUR + 1);
  harness.store.taskLogs.begin("devstack1", period);
  await harness.start("devstack1", on);
  await harness.world.advance(HOUR + 120_000);
  expect(logs(harness)).toMatchObject([{ state: "DONE", taskItems: 2 }]);
});

scenario("4.10 _instance_usage_audit is off by default", async (harness) => {
  await twoServers(harness);
  await harness.start("devstack1", { config: { defaults: options } });
  await harness.world.advance(2 * HOUR);
  expect(logs(harness)).toEqual([]);
});
