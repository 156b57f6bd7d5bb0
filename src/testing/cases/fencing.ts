import type { DriverMethod } from "../../virt/driver-methods.js";
import { HostEpochOutdated } from "../../virt/errors.js";
import type { Instance } from "../../virt/index.js";
import { type ContractCase, must, succeeds, textOf } from "../contract-case.js";
import type { CheckedHost, DriverHarness } from "../driver-harness.js";
import { DEVICES } from "../objects.js";
import { guestOn, wordFor } from "./guest-state.js";

const DESTROY = { ...DEVICES, destroyDisks: true } as const;

interface Late {
  readonly method: DriverMethod;
  readonly begin: (harness: DriverHarness, on: CheckedHost) => Promise<Instance>;
  readonly call: (harness: DriverHarness, on: CheckedHost, instance: Instance) => Promise<void>;
}

const LATE: readonly Late[] = [
  {
    method: "spawn",
    begin: (harness, on) => harness.instance(on),
    call: async (harness, on, instance) => on.host.spawn(instance, await harness.spawnOptions(on, instance)),
  },
  {
    method: "destroy",
    begin: (harness, on) => harness.spawned(on),
    call: (_, on, instance) => on.host.destroy(instance, DESTROY),
  },
  {
    method: "powerOff",
    begin: (harness, on) => harness.spawned(on),
    call: (_, on, instance) => on.host.powerOff(instance),
  },
];

/** Section 8.4 `supportsFencing`: an agent that is suspended, and goes on when the next one has the host. */
export const FENCING_CASES: readonly ContractCase[] = [
  {
    code: "late-effects",
    section: "8.4",
    rule: "supportsFencing: spawn, destroy and powerOff, suspended anywhere, change no guest after the next agent's initHost",
    capability: "supportsFencing",
    run: async (harness) => {
      let epoch = 0;
      for (const late of LATE) {
        for (let call = 1; call <= 60; call += 1) {
          epoch += 2;
          if (!(await suspended(harness, late, call, epoch))) {
            break;
          }
        }
      }
    },
  },
];

/** @returns false: the method was through before that many calls of its doors. */
async function suspended(
  harness: DriverHarness,
  { method, begin, call }: Late,
  at: number,
  epoch: number,
): Promise<boolean> {
  const first = await harness.connect("check-host-1", undefined, epoch - 1);
  const instance = await begin(harness, first);
  const { reached } = first.suspension.arm(at);
  const outcome = call(harness, first, instance).then(
    () => undefined,
    (error: unknown) => error,
  );
  const stopped = await Promise.race([reached.then(() => true), outcome.then(() => false)]);
  const next = await harness.connect("check-host-1", undefined, epoch);
  const before = wordFor(await guestOn(next, instance));
  first.suspension.resume();
  const error = await outcome;
  const after = wordFor(await guestOn(next, instance));
  const rule = "change no guest for an agent whose host another has";
  must(before === after, method, rule, `the guest was ${before}, and ${after} when it went on (call ${at})`);
  const isReported = at > 1 || (error instanceof Error && error.name === new HostEpochOutdated("").name);
  must(
    !stopped || isReported,
    method,
    "throw HostEpochOutdated when it has done nothing yet",
    `it ended with ${textOf(error)}`,
  );
  await succeeds(next.host.destroy(instance, DESTROY), "destroy", `remove what a late ${method} left (call ${at})`);
  return stopped;
}
