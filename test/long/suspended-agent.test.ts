import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { filesBelow } from "../process/support/files-below.js";
import { LocalCloud } from "../process/support/local-cloud.js";
import { Operator } from "../process/support/operator.js";
import type { Program } from "../process/support/program.js";

/** Exit code of an agent that lost its host's lease to another agent; see the README. */
const LEASE_LOST = 5;

/** Milliseconds that a silent agent's lease lasts, and between two checks for silent connections. */
const LEASE = 10_000;
const SILENCE_LOOKED_FOR = LEASE / 4;

function serves(agent: Program): Promise<boolean> {
  return agent.printed(/\bserving\b/).then(
    () => true,
    () => false,
  );
}

let cloud: LocalCloud;
afterEach(() => cloud.dispose());

it("2.4 G6: an agent that was suspended during a spawn creates no guest after another agent had its host", async () => {
  cloud = await LocalCloud.start();
  const operator = new Operator(cloud);
  const first = await cloud.startAgent("devstack1", { args: ["-o", "fake_libvirt.delay_spawn=6"] });
  const id = await operator.boot("vm1");
  const guests = async () => Object.keys(await filesBelow(join(cloud.stateDir, "hypervisors/devstack1/domains")));
  await cloud.eventually(
    () => operator.server(id),
    (server) => String(server["OS-EXT-STS:task_state"]) === "spawning",
  );
  first.signal("SIGSTOP");
  // Until then no other agent gets the host.
  await pause(LEASE);
  let second = await cloud.startAgent("devstack1", { wait: false });
  while (!(await serves(second))) {
    await pause(SILENCE_LOOKED_FOR / 2);
    second = await cloud.startAgent("devstack1", { wait: false });
  }
  await operator.serverIn(id, "ERROR");
  expect(await guests()).toEqual([]);
  first.signal("SIGCONT");
  expect(await first.exited).toMatchObject({ code: LEASE_LOST });
  expect(await guests()).toEqual([]);
  expect(second.running).toBe(true);
});
