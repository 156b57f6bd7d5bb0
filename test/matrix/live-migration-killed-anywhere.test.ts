import { expect, test } from "vitest";
import {
  arrived,
  castLive,
  chosen,
  heldBy,
  LiveHypervisors,
  type LiveMove,
  statusOf,
  stayed,
  VM,
} from "../fixtures/live-migrations.js";
import { Harness } from "../unit/agent/support/harness.js";
import { KillPoint } from "../unit/agent/support/kill-points.js";

const PERIODIC = { config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } };
const FINAL = ["completed", "failed", "cancelled", "error"];

interface Case {
  readonly victim: "devstack1" | "devstack2";
  readonly ending: "moves" | "recovers";
}

/** Kills the victim at one of its steps and starts it again. Returns null if the migration has no such step. */
async function killedAt({ victim, ending }: Case, at: number): Promise<{ step: string; move: LiveMove } | null> {
  const harness = await Harness.create();
  const live = new LiveHypervisors(harness);
  live.plan.seconds = 2;
  live.plan.ending = ending;
  const { source, destination } = await live.start(PERIODIC);
  const move = await chosen(harness);
  const point = new KillPoint(harness, victim, at);
  point.arm(victim === "devstack1" ? source : destination);
  castLive(move);
  await harness.world.runUntil(() => point.struck !== null || FINAL.includes(statusOf(move) ?? ""));
  if (point.struck === null) {
    await harness.world.advance(1_000);
  }
  if (point.struck === null) {
    return null;
  }
  await harness.world.advance(2_000);
  await harness.start(victim, live.options(victim, PERIODIC));
  await harness.world.runUntil(() => FINAL.includes(statusOf(move) ?? "") && harness.instance(VM).taskState === null);
  await harness.world.advance(130_000);
  return { step: point.struck, move };
}

/** Describes the final state, and checks V4, V11, V12, V31. */
async function restOf(move: LiveMove, step: string): Promise<string> {
  const { harness } = move;
  const instance = harness.instance(VM);
  const here = instance.host === "devstack2" ? "devstack2" : "devstack1";
  const other = here === "devstack1" ? "devstack2" : "devstack1";
  expect(instance.taskState, step).toBeNull();
  expect(harness.hypervisor(here).guests.has(VM), step).toBe(true);
  expect(harness.hypervisor(other).guests.has(VM), step).toBe(false);
  expect(await heldBy(move), step).toEqual(here === "devstack1" ? stayed(move) : arrived(move));
  return `${statusOf(move)}, ${instance.vmState} on ${here}`;
}

/** Allowed final states of each case. */
const CASES: readonly (readonly [Case, readonly string[]])[] = [
  [{ victim: "devstack1", ending: "moves" }, ["completed, active on devstack2", "error, active on devstack1"]],
  [{ victim: "devstack1", ending: "recovers" }, ["error, active on devstack1", "failed, active on devstack1"]],
  [{ victim: "devstack2", ending: "moves" }, ["completed, active on devstack2", "failed, active on devstack1"]],
  [{ victim: "devstack2", ending: "recovers" }, ["failed, active on devstack1"]],
];

for (const [{ victim, ending }, ends] of CASES) {
  test(`6.5, 9.4 ${victim} killed at any step of a live migration that ${ending}: it ends, and nothing leaks`, async () => {
    const found = new Set<string>();
    let steps = 0;
    for (; ; steps += 1) {
      const killed = await killedAt({ victim, ending }, steps);
      if (killed === null) {
        break;
      }
      found.add(await restOf(killed.move, `killed ${killed.step}`));
    }
    expect([...found].sort()).toEqual(ends);
    expect(steps).toBeGreaterThan(8);
  });
}
