import { expect } from "vitest";
import { lastCompletedPeriod, type TaskLog } from "../../../../src/records/index.js";
import type { Lab } from "../../../unit/agent/support/harness.js";
import { addInstance, placed, uuidOf } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

const HOUR = 3_600_000;
const options = { periodic_enable: true, periodic_fuzzy_delay: 0, instance_usage_audit_period: "hour" } as const;
const on = { config: { defaults: { ...options, instance_usage_audit: true } } };

/** What the API would find of the last hour. */
const logs = ({ store, world }: Lab): readonly TaskLog[] => store.taskLogs.list(lastCompletedPeriod("hour", world.now));

async function twoServers(lab: Lab): Promise<void> {
  const { node } = await lab.seed("devstack1");
  const launchedAt = lab.world.now;
  addInstance(lab.store, uuidOf(1), { ...placed(node), launchedAt });
  addInstance(lab.store, uuidOf(2), { ...placed(node), launchedAt });
  lab.hypervisor("devstack1").addGuest(uuidOf(1));
  lab.hypervisor("devstack1").addGuest(uuidOf(2));
}

scenario("4.10 _instance_usage_audit: each period once, also by an agent that starts again in it", async (lab) => {
  await twoServers(lab);
  const run = await lab.start("devstack1", on);
  await lab.world.advance(HOUR + 120_000);
  const [first, ...others] = logs(lab);
  expect(others).toEqual([]);
  expect(first).toMatchObject({ host: "devstack1", state: "DONE", taskItems: 2, errors: 0 });
  expect(first?.message).toMatch(/^Instance usage audit ran for host devstack1, 2 instances in [\d.]+ seconds\.$/);
  await lab.stop(run);
  const again = await lab.start("devstack1", on);
  await lab.world.advance(120_000);
  expect(again.runtime.logs.filter(({ message }) => message.includes("Running instance usage audit"))).toEqual([]);
  await lab.world.advance(HOUR);
  expect(logs(lab)).toMatchObject([{ state: "DONE", taskItems: 2 }]);
});

scenario("4.10 _instance_usage_audit: one that its agent's death has cut short is run again", async (lab) => {
  await twoServers(lab);
  const period = lastCompletedPeriod("hour", lab.world.now + HOUR + 1);
  lab.store.taskLogs.begin("devstack1", period);
  await lab.start("devstack1", on);
  await lab.world.advance(HOUR + 120_000);
  expect(logs(lab)).toMatchObject([{ state: "DONE", taskItems: 2 }]);
});

scenario("4.10 _instance_usage_audit is off by default", async (lab) => {
  await twoServers(lab);
  await lab.start("devstack1", { config: { defaults: options } });
  await lab.world.advance(2 * HOUR);
  expect(logs(lab)).toEqual([]);
});
