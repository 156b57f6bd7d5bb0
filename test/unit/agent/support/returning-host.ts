import { expect } from "vitest";
import { type DriverDefinition, defineDriver, type VirtDriver } from "../../../../src/virt/index.js";
import { type Evacuated, evacuated, statusOf, VM } from "./evacuated.js";
import type { HostOptions, Run } from "./harness.js";
import { Harness } from "./harness.js";

const ALL: Sample = { first: 0, each: 1 };
export const PERIODIC = { config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } } };
/** In milliseconds: two periodic passes. */
const TWO_PASSES = 130_000;

/** One fault that strikes at its step. */
interface Strike {
  readonly struck: () => boolean;
  /** Ends the fault; its damage remains. */
  readonly heal?: () => void | Promise<void>;
  readonly options?: HostOptions;
}

export interface Sample {
  readonly first: number;
  readonly each: number;
}

export interface Expectation {
  /** Tests only every n-th step, from the first one of the sample; default: all. */
  readonly sample?: Sample;
  readonly arm: (harness: Harness, at: number, evacuation: Evacuated) => Strike;
  /** Default: {@link isClean}. */
  readonly ends?: (harness: Harness, evacuation: Evacuated, at: number) => Promise<void>;
}

/**
 * Lets devstack1 return from an evacuation to clean up, with the fault at its first step, then at its second, and so
 * on, until a start and the passes after it have no such step. Each time everything must be correct once the fault is
 * over and two passes have run. A supervisor restarts an agent that exits. @returns the number of steps
 */
export async function atEveryStep({ arm, ends = isClean, sample = ALL }: Expectation): Promise<number> {
  for (let at = sample.first; ; at += sample.each) {
    const harness = await Harness.create();
    const evacuation = await evacuated(harness, "done");
    const strike = arm(harness, at, evacuation);
    const run = await startInTheEnd(harness, { ...PERIODIC, ...strike.options }, strike.heal);
    await harness.world.advance(TWO_PASSES);
    await strike.heal?.();
    await harness.world.advance(TWO_PASSES);
    if (statusOf(harness, evacuation) === "done") {
      // GAP-a, or its node was missing when the record was evaluated (3.1): the record waits for the next start.
      await harness.stop(run);
      await harness.start("devstack1", PERIODIC);
      await harness.world.advance(TWO_PASSES);
    }
    await (strike.struck() ? ends : isClean)(harness, evacuation, at);
    if (!strike.struck()) {
      return at;
    }
  }
}

/** Milliseconds after which an unfinished start counts as waiting for Placement. */
const WAITS = 20 * 60_000;

/** Starts the agent. A waiting agent continues when the fault is over; one that exits is then restarted. */
async function startInTheEnd(harness: Harness, options: HostOptions, heal: Strike["heal"]): Promise<Run> {
  for (let attempt = 0; ; attempt += 1) {
    const run = await harness.launch("devstack1", options);
    let ended = false;
    const outcome = run.agent.start().then(
      () => null,
      (error: Error) => error,
    );
    void outcome.then(() => {
      ended = true;
    });
    await harness.world.runUntil(() => ended, { limit: WAITS }).catch(() => heal?.());
    const failure = await harness.world.runUntil(outcome, { limit: 24 * 3_600_000 });
    if (failure === null) {
      return run;
    }
    if (attempt > 0) {
      throw failure;
    }
    run.runtime.kill();
    await harness.world.advance(30_000);
    await heal?.();
  }
}

/** The expected state after healing (9.4). */
async function isClean(harness: Harness, evacuation: Evacuated, at: number): Promise<void> {
  const step = `step ${at}`;
  expect(harness.hypervisor("devstack1").guests.has(VM), step).toBe(false);
  expect(statusOf(harness, evacuation), step).toBe("completed");
  expect(Object.keys(await harness.held(VM)), step).toEqual([evacuation.d.uuid]);
  await isTracked(harness, evacuation, at);
}

/** Asserts that the node and its provider exist. */
export async function isTracked(harness: Harness, { s }: Evacuated, at: number): Promise<void> {
  const step = `step ${at}`;
  expect(harness.store.computeNodes.byHost("devstack1"), step).toMatchObject([
    { uuid: s.uuid, hypervisorHostname: s.host },
  ]);
  expect([...(await harness.providers())].sort(), step).toEqual(["devstack1", "devstack2"]);
  expect(await harness.traits("devstack1"), step).toContain("COMPUTE_NODE");
  expect(harness.store.services.getByHost("devstack1", "nova-compute")?.reportCount, step).toBeGreaterThan(0);
}

/** Counts events from now on; returns true at the `at`-th one, and for the next `times - 1`. */
export function countdown(at: number, times = 1): { readonly hit: () => boolean; readonly struck: () => boolean } {
  let hitCount = 0;
  let struck = false;
  const hit = (): boolean => {
    const strikes = hitCount >= at && hitCount < at + times;
    hitCount += 1;
    struck ||= strikes;
    return strikes;
  };
  return { hit, struck: () => struck };
}

/** Wraps a driver so that `action` runs before each of its asynchronous calls. */
export function meddled(definition: DriverDefinition, action: (method: string) => Promise<void>): DriverDefinition {
  return defineDriver({
    ...definition,
    create: async (context) =>
      new Proxy<VirtDriver>(await definition.create(context), {
        get: (target, name) => {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== "function" || name === "getHostIpAddr") {
            return value;
          }
          return async (...args: readonly unknown[]): Promise<unknown> => {
            await action(String(name));
            return Reflect.apply(value, target, args);
          };
        },
      }),
  });
}
