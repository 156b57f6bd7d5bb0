import { DEFAULT_GRACE } from "../../virt/driver-call.js";
import type { DriverMethod } from "../../virt/driver-methods.js";
import { HostEpochOutdated } from "../../virt/errors.js";
import { type Instance, type LifecycleTransition, POWER_STATES, type PowerState } from "../../virt/index.js";
import {
  type ContractCase,
  guestOn,
  inSection,
  must,
  mustBe,
  onGuest,
  succeeds,
  textOf,
  wordFor,
} from "../contract-case.js";
import type { CheckedHost, DriverHarness } from "../driver-harness.js";
import { DESTROY } from "../harness-fixtures.js";

const LIFE: readonly (readonly [
  DriverMethod,
  (harness: DriverHarness, on: CheckedHost, it: Instance) => Promise<unknown>,
])[] = [
  ["spawn", (harness, on, it) => harness.spawn(on, it)],
  ["getInfo", (_, { host }, it) => host.getInfo(it)],
  ["powerOff", (_, { host }, it) => host.powerOff(it)],
  ["powerOn", (_, { host }, it) => host.powerOn(it)],
  ["reboot", (_, { host }, it) => host.reboot(it, "SOFT")],
  ["destroy", (_, { host }, it) => host.destroy(it, DESTROY)],
];

/** Section 8: rules for every method. */
export const MANNERS_CASES: readonly ContractCase[] = [
  {
    code: "instances-unchanged",
    section: "8",
    rule: "instances are read-only: no method changes its argument",
    run: async (harness) => {
      const on = await harness.connect();
      // The object is not frozen, so that a change is also found if a driver ignores the error.
      const instance = structuredClone(await harness.instance(on));
      const before = JSON.stringify(instance);
      for (const [method, call] of LIFE) {
        await succeeds(call(harness, on, instance), method, "succeed");
        const changed = Object.entries(JSON.parse(before) as object)
          .filter(([name, value]) => JSON.stringify(Reflect.get(instance, name)) !== JSON.stringify(value))
          .map(([name]) => name);
        must(
          JSON.stringify(instance) === before,
          method,
          "leave its instance as it is",
          `it set ${changed.join(", ")}`,
        );
      }
    },
  },
  {
    code: "signal-settles",
    section: "8",
    rule: `spawn and powerOff settle, successfully or not, within ${DEFAULT_GRACE / 1000} s of the abort of their signal`,
    run: async (harness) => {
      const on = await harness.connect();
      const instance = await harness.instance(on);
      await on.host.prepareForSpawn(instance);
      const options = await harness.spawnOptions(on, instance);
      const rule = "settle soon after its signal was aborted";
      const mustSettle = async (method: DriverMethod, call: (signal: AbortSignal) => Promise<unknown>) => {
        const stop = new AbortController();
        const work = call(stop.signal);
        stop.abort(new Error("the agent has abandoned it"));
        must(await harness.settles(work, DEFAULT_GRACE), method, rule, "it is still pending");
      };
      await mustSettle("spawn", (signal) =>
        on.bare.spawn(instance, { ...options, image: { ...options.image, open: async () => null }, signal }),
      );
      await succeeds(on.host.destroy(instance, DESTROY), "destroy", "remove what a stopped spawn left");
      await mustBe(on, instance, "absent", "destroy", "of a stopped spawn");
      // Another node may be needed: the first one may take time to become free again.
      const next = await harness.spawned(on);
      await mustSettle("powerOff", (signal) => on.bare.powerOff(next, { signal }));
    },
  },
];

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

/** Section 8.4 `supportsFencing`: an agent that is suspended, and resumes after the next one has taken the host. */
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

/** @returns false if the method completed before that many interface calls */
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
  const rule = "change no guest for an agent that has lost its host";
  must(before === after, method, rule, `the guest was ${before}, and ${after} after it resumed (call ${at})`);
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

/** Methods that are useful only as a group. */
const METHOD_GROUPS: readonly (readonly DriverMethod[])[] = [
  ["pause", "unpause"],
  ["suspend", "resume"],
  ["rescue", "unrescue"],
  ["getVolumeConnector", "attachVolume", "detachVolume"],
  ["migrateDiskAndPowerOff", "finishMigration", "confirmMigration"],
  ["checkCanLiveMigrateDestination", "checkCanLiveMigrateSource", "preLiveMigration", "liveMigration"],
  ["checkInstanceSharedStorageLocal", "checkInstanceSharedStorageRemote", "checkInstanceSharedStorageCleanup"],
];

const STORAGE: readonly DriverMethod[] = [
  "checkInstanceSharedStorageLocal",
  "checkInstanceSharedStorageRemote",
  "checkInstanceSharedStorageCleanup",
];

/** Maximum difference in milliseconds between the clocks of hypervisor and agent. */
const CLOCKS_APART = 60_000;

/** The power state that an event implies. */
const IMPLIED: Readonly<Partial<Record<LifecycleTransition, PowerState>>> = {
  started: POWER_STATES.running,
  resumed: POWER_STATES.running,
  stopped: POWER_STATES.shutdown,
  paused: POWER_STATES.paused,
  suspended: POWER_STATES.suspended,
};

/** Sections 3.3, 8.4 and 8.5: storage probes, capabilities, events. */
export const OTHER_CASES: readonly ContractCase[] = inSection("8.5", [
  {
    code: "methods-together",
    section: "8.4",
    rule: "methods of a group are all implemented, or none of them",
    run: async (harness) => {
      const { host } = await harness.connect();
      for (const group of METHOD_GROUPS) {
        const missing = group.filter((method) => !host.supports(method));
        const [first] = group;
        const isComplete = missing.length === 0 || missing.length === group.length;
        if (first) {
          must(isComplete, first, `come with ${group.join(", ")}`, `${missing.join(", ")} is missing`);
        }
      }
    },
  },
  {
    code: "capabilities-kept",
    section: "8.4",
    rule: "capabilities for moves come with their methods, and never change",
    run: async (harness) => {
      const on = await harness.connect();
      const promise = on.host.capabilities.supportsMigrateToSameHost;
      const rule = "be implemented with supportsMigrateToSameHost";
      must(!promise || on.host.supports("migrateDiskAndPowerOff"), "migrateDiskAndPowerOff", rule, "it is missing");
      const before = JSON.stringify(on.bare.capabilities);
      await harness.spawned(on);
      const after = JSON.stringify(on.bare.capabilities);
      must(after === before, "initHost", "leave capabilities as they are", `found ${after} after ${before}`);
    },
  },
  {
    code: "events-are-of-guests",
    rule: "events name guests of this host, and the time of the change",
    run: async (harness) => {
      const on = await harness.connect();
      const began = harness.now();
      const instance = await harness.spawned(on);
      await on.host.powerOff(instance);
      await on.host.powerOn(instance);
      await on.host.destroy(instance, DESTROY);
      await harness.wait(30);
      const strange = harness.events.find(({ uuid }) => uuid !== instance.uuid);
      must(strange === undefined, "initHost", "emit events of its guests only", `found one of ${strange?.uuid}`);
      const [from, to] = [began - CLOCKS_APART, harness.now() + CLOCKS_APART];
      const untimely = harness.events.find(({ timestamp }) => timestamp < from || timestamp > to);
      const rule = "emit events with the time of the change, in milliseconds since the epoch";
      must(untimely === undefined, "initHost", rule, `found ${untimely?.timestamp} at ${harness.now()}`);
      const dropped = harness.complaints.find((message) => message.includes("emitEvent"));
      must(dropped === undefined, "initHost", "emit valid events", dropped ?? "");
    },
  },
  {
    code: "events-imply-state",
    rule: "an event of a change after a method returned implies the state that the method left",
    run: onGuest(async (on, instance, harness) => {
      for (const [method, state] of [
        ["powerOff", POWER_STATES.shutdown],
        ["powerOn", POWER_STATES.running],
      ] as const) {
        await on.host[method](instance);
        const [returned, known] = [harness.now(), harness.events.length];
        await harness.wait(50);
        const wrong = harness.events
          .slice(known)
          .find(({ timestamp, transition }) => timestamp >= returned && (IMPLIED[transition] ?? state) !== state);
        const found = `${wrong?.transition} followed`;
        must(wrong === undefined, method, `be followed by no event of another state than ${state}`, found);
      }
    }),
  },
  {
    code: "storage-not-shared",
    section: "3.3",
    rule: "the storage probe recognises its own token on this host, and not on a host with other storage",
    needs: STORAGE,
    run: async (harness) => {
      const [here, there] = await harness.connectBoth();
      const instance = await harness.spawned(here);
      const token = await here.host.checkInstanceSharedStorageLocal(instance);
      if (token === null) {
        return;
      }
      const sees = await here.host.checkInstanceSharedStorageRemote(token);
      must(sees, "checkInstanceSharedStorageRemote", "be true for a token of the same storage", "it is false");
      const wrong = await there.host.checkInstanceSharedStorageRemote(token);
      must(!wrong, "checkInstanceSharedStorageRemote", "be false for a token of other storage", "it is true");
      await here.host.checkInstanceSharedStorageCleanup(token);
      const gone = !(await here.host.checkInstanceSharedStorageRemote(token));
      must(gone, "checkInstanceSharedStorageCleanup", "remove the token", "it is still found");
      const rule = "succeed when the token is gone";
      await succeeds(here.host.checkInstanceSharedStorageCleanup(token), "checkInstanceSharedStorageCleanup", rule);
    },
  },
  {
    code: "storage-absent",
    section: "3.3",
    rule: "checkInstanceSharedStorageLocal is null for an instance whose files are not here",
    needs: STORAGE,
    run: async (harness) => {
      const on = await harness.connect();
      const token = await on.host.checkInstanceSharedStorageLocal(await harness.instance(on));
      must(token === null, "checkInstanceSharedStorageLocal", "be null when there are no files", "it is a token");
    },
  },
]);
