import { pickHost, type Stage } from "./actors.js";
import type { SimulatedHost } from "./simulated-cluster.js";

/** Cuts the power of a host: its agent and guests end, and files that were not synced are damaged. */
export async function losePower(stage: Stage): Promise<void> {
  const { cluster, dice, journal, runtime } = stage;
  const host = pickHost(stage, ({ harmed }) => !harmed);
  if (host === undefined) {
    return;
  }
  host.harmed = true;
  journal.note("world", `${host.name} loses its power`);
  host.machine.losePower();
  host.agent = null;
  stopGuests(host);
  await runtime.timers.sleep(dice.pick([1_000, 20_000, 100_000, 300_000]) ?? 0);
  host.harmed = false;
  if (host.agent === null && (!host.fenced || dice.chance(0.6))) {
    await cluster.startAgent(host);
  }
}

/** Sets running and paused guests to shut off. */
function stopGuests({ hypervisor, machine: { disk } }: SimulatedHost): void {
  const folder = `${hypervisor}/state`;
  for (const uuid of disk.list(folder)) {
    const path = `${folder}/${uuid}`;
    if (/running|paused/.test(disk.read(path) ?? "")) {
      disk.write(path, "shutoff\n", 0o644, 0, "write");
    }
  }
}

/** Makes a host's disk full or slow for a while. */
export async function troubleDisk(stage: Stage): Promise<void> {
  const { dice, journal, runtime } = stage;
  const host = pickHost(stage, ({ diskFull }) => !diskFull);
  if (host === undefined) {
    return;
  }
  const { disk } = host.machine;
  const full = dice.chance(0.5);
  const trouble = { full, slow: full ? 0 : (dice.pick([20, 200, 2_000]) ?? 0) };
  const milliseconds = dice.pick([1_000, 10_000, 60_000]) ?? 0;
  journal.note("world", `the disk of ${host.name} is ${JSON.stringify(trouble)} for ${milliseconds} ms`);
  host.diskFull = full;
  for (const folder of [host.hypervisor, host.statePath]) {
    disk.setTrouble(folder, trouble);
  }
  await runtime.timers.sleep(milliseconds);
  for (const folder of [host.hypervisor, host.statePath]) {
    disk.setTrouble(folder, null);
  }
  host.diskFull = false;
}

/** Makes all clocks or that of one machine jump, or changes the speed of one permanently. */
export async function disturbClocks(stage: Stage): Promise<void> {
  const { cluster, dice, journal } = stage;
  const milliseconds = dice.pick([-30_000, -2_000, 2_000, 30_000, 120_000]) ?? 0;
  const host = dice.chance(0.5) ? dice.pick(cluster.hosts) : undefined;
  if (host === undefined) {
    journal.note("world", `all clocks jump by ${milliseconds} ms`);
    cluster.world.jumpClock(milliseconds);
  } else if (dice.chance(0.5)) {
    journal.note("world", `the clock of ${host.name} jumps by ${milliseconds} ms`);
    host.machine.jumpClock(milliseconds);
  } else {
    const share = dice.pick([-0.05, -0.001, 0.001, 0.05]) ?? 0;
    journal.note("world", `the clock of ${host.name} gains ${share}`);
    cluster.world.driftClock(host.machine, share);
  }
}
