import type { Stage } from "./actors.js";
import { restoreNodes } from "./bare-metal/nodes.js";
import { isEvacuated, setForcedDown, setStatus } from "./operator.js";
import { type Breach, checkAtRest } from "./oracle.js";
import { forceDelete } from "./tenant.js";

/** Milliseconds within which a cloud without faults must become consistent (spec 9.3). */
const SETTLE_TIMEOUT_MS = 3_600_000;
/** Milliseconds between checks; the next constant is the time without a change after which the violations are final. */
const LOOK_EVERY = 20_000;
const NO_HOPE = 15 * 60_000;
/** The max number of retries of a delete that a fault has stopped. */
const RETRIES = 5;

/**
 * Ends all faults and restarts all hosts. Then all rules must be fulfilled within a virtual hour; returns the
 * violations that remain.
 */
export async function settle(stage: Stage): Promise<readonly Breach[]> {
  const { cluster, journal, runtime } = stage;
  const { clock, timers } = runtime;
  journal.note("world", "peace");
  const began = clock.monotonic();
  await bringBack(stage);
  const retried = new Map<string, number>();
  let last = { text: "", at: clock.monotonic() };
  for (;;) {
    const failed = await checkAtRest(cluster, stage, (uuid) => {
      const times = (retried.get(uuid) ?? 0) + 1;
      retried.set(uuid, times);
      if (times <= RETRIES) {
        void forceDelete(stage, uuid);
      }
    });
    const now = clock.monotonic();
    const text = JSON.stringify(failed);
    if (text !== last.text) {
      last = { text, at: now };
    }
    if (failed.length === 0 || now > last.at + NO_HOPE || now > began + SETTLE_TIMEOUT_MS) {
      for (const { rule, subject, what } of failed) {
        journal.note("world", `VIOLATION ${rule}: ${what}`, subject);
      }
      return failed;
    }
    await timers.sleep(LOOK_EVERY);
  }
}

async function bringBack(stage: Stage): Promise<void> {
  const { cluster, runtime } = stage;
  for (const { agent } of [...cluster.hosts, ...cluster.ironic.all]) {
    agent?.faults.clear();
  }
  await cluster.startControlPlane();
  for (const host of cluster.hosts) {
    if (host.agent === null) {
      await cluster.startAgent(host);
    }
  }
  for (const host of cluster.ironic.all) {
    if (host.agent === null) {
      await cluster.ironic.start(host);
    }
  }
  await restoreNodes(stage);
  const fenced = cluster.hosts.filter((host) => host.fenced);
  for (let waited = 0; waited < 60 && fenced.some((host) => isEvacuated(stage, host)); waited += 1) {
    await runtime.timers.sleep(10_000);
  }
  for (const host of cluster.hosts) {
    // A fenced host is restarted, which removes evacuated guests, before it is forced up.
    for (let tries = 0; host.fenced && tries < 10; tries += 1) {
      await host.agent?.agent.stop();
      host.agent?.runtime.kill();
      host.agent = null;
      await cluster.startAgent(host);
      host.fenced = !(await setForcedDown(stage, host, false));
      if (host.fenced) {
        await runtime.timers.sleep(10_000);
      }
    }
    for (let tries = 0; !host.serves && tries < 10; tries += 1) {
      await runtime.timers.sleep(10_000);
      if (host.agent === null) {
        await cluster.startAgent(host);
      }
    }
    await setStatus(stage, host, "enabled");
  }
}
