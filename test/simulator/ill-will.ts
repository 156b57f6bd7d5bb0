import { AGENT_FAULTS } from "../../src/cli/agent/agent-faults.js";
import { type FaultRule, formatFaultRule, parseFaultRule } from "../../src/faults/faults.js";
import type { Dice } from "../chaos/dice.js";
import { drawFault } from "../chaos/faults.js";
import { pickHost, type Stage } from "./actors.js";

/** Kills an agent, as `kill -9`, now or in one of its next adapter calls. */
export async function killAgent(stage: Stage): Promise<void> {
  const { cluster, dice, journal, runtime } = stage;
  const host = pickHost(stage, ({ agent, harmed }) => agent !== null && !harmed);
  if (host?.agent == null) {
    return;
  }
  host.harmed = true;
  const { agent } = host;
  const adapterCalls = dice.chance(0.7) ? dice.between(1, 60) : 0;
  journal.note("world", `kill -9 of ${host.name} after ${adapterCalls} doors`);
  agent.runtime.killAfter(adapterCalls);
  if (adapterCalls === 0) {
    agent.runtime.kill();
  }
  await runtime.timers.sleep(dice.between(0, 20_000));
  agent.runtime.kill();
  if (host.agent === agent) {
    host.agent = null;
  }
  await runtime.timers.sleep(dice.pick([0, 5_000, 60_000, 240_000]) ?? 0);
  host.harmed = false;
  if (host.agent === null && !host.fenced) {
    await cluster.startAgent(host);
  } else if (host.agent === null && dice.chance(0.6)) {
    // The agent returns while its servers are being evacuated.
    await cluster.startAgent(host);
  }
}

export async function stopAgent(stage: Stage): Promise<void> {
  const { cluster, dice, journal, runtime } = stage;
  const host = pickHost(stage, ({ agent, harmed }) => agent !== null && !harmed);
  if (host?.agent == null) {
    return;
  }
  host.harmed = true;
  const running = host.agent;
  journal.note("world", `SIGTERM to ${host.name}`);
  const bored = runtime.timers.sleep(dice.between(1_000, 180_000));
  const killed = new Promise<void>((resolve) => running.runtime.onKill(resolve));
  await Promise.race([running.agent.stop(), bored, killed]);
  running.runtime.kill();
  if (host.agent === running) {
    host.agent = null;
  }
  await runtime.timers.sleep(dice.pick([0, 2_000, 90_000]) ?? 0);
  host.harmed = false;
  if (host.agent === null) {
    await cluster.startAgent(host);
  }
}

/** Starts a second agent for a host. */
export async function twinAgent(stage: Stage): Promise<void> {
  const { cluster, journal } = stage;
  const host = pickHost(stage, ({ agent, harmed }) => agent !== null && !harmed);
  if (host !== undefined) {
    host.harmed = true;
    journal.note("world", `a second agent for ${host.name}`);
    await cluster.startTwin(host);
    host.harmed = false;
  }
}

export async function killControlPlane(stage: Stage): Promise<void> {
  const { cluster, dice, journal, runtime } = stage;
  if (!cluster.controlPlaneRuns) {
    return;
  }
  const adapterCalls = dice.chance(0.7) ? dice.between(1, 200) : 0;
  journal.note("world", `kill -9 of the control plane after ${adapterCalls} doors`);
  cluster.killControlPlane(adapterCalls);
  await runtime.timers.sleep(dice.between(100, 15_000));
  cluster.killControlPlane();
  await runtime.timers.sleep(dice.pick([0, 1_000, 10_000]) ?? 0);
  await cluster.startControlPlane();
}

/** Draws a driver fault that hangs for longer than any caller waits. */
function longHang(dice: Dice): FaultRule {
  const method = dice.pick(["spawn", "destroy", "powerOff", "snapshot", "migrateDiskAndPowerOff", "finishMigration"]);
  return parseFaultRule(`driver.${method}=hang:${dice.pick(["90s", "400s"])}:once`, AGENT_FAULTS);
}

/** Sets a fault on a host: at an adapter call, in a driver or before a step, as `compute-agent fault set` does. */
export async function setFault(stage: Stage): Promise<void> {
  const host = pickHost(stage, ({ agent }) => agent !== null);
  const faultRule = stage.dice.chance(0.1) ? longHang(stage.dice) : drawFault("all", stage.dice);
  if (host?.agent != null && faultRule !== undefined) {
    stage.journal.note("world", `fault on ${host.name}: ${formatFaultRule(faultRule)}`);
    host.agent.faults.set(faultRule);
  }
}
