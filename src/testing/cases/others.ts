import type { DriverMethod } from "../../virt/driver-methods.js";
import { type LifecycleTransition, POWER_STATES, type PowerState } from "../../virt/index.js";
import { type ContractCase, must, succeeds } from "../contract-case.js";
import { DEVICES } from "../objects.js";

/** Methods that make sense together only. */
const METHOD_GROUPS: readonly (readonly DriverMethod[])[] = [
  ["pause", "unpause"],
  ["suspend", "resume"],
  ["rescue", "unrescue"],
  ["migrateDiskAndPowerOff", "finishMigration", "confirmMigration"],
  ["checkCanLiveMigrateDestination", "checkCanLiveMigrateSource", "preLiveMigration", "liveMigration"],
  ["checkInstanceSharedStorageLocal", "checkInstanceSharedStorageRemote", "checkInstanceSharedStorageCleanup"],
];

const STORAGE: readonly DriverMethod[] = [
  "checkInstanceSharedStorageLocal",
  "checkInstanceSharedStorageRemote",
  "checkInstanceSharedStorageCleanup",
];

/** Milliseconds that a hypervisor's clock may differ from the agent's. */
const CLOCKS_APART = 60_000;

/** The power state that an event stands for. */
const IMPLIED: Readonly<Partial<Record<LifecycleTransition, PowerState>>> = {
  started: POWER_STATES.running,
  resumed: POWER_STATES.running,
  stopped: POWER_STATES.shutdown,
  paused: POWER_STATES.paused,
  suspended: POWER_STATES.suspended,
};

/** Sections 3.3, 8.4 and 8.5: storage probes, capabilities, events. */
export const OTHER_CASES: readonly ContractCase[] = [
  {
    code: "methods-together",
    section: "8.4",
    rule: "methods that belong together are all there, or none of them",
    run: async (harness) => {
      const { host } = await harness.connect();
      for (const group of METHOD_GROUPS) {
        const missing = group.filter((method) => !host.supports(method));
        const [first] = group;
        const isComplete = missing.length === 0 || missing.length === group.length;
        if (first) {
          must(isComplete, first, `come with ${group.join(", ")}`, `${missing.join(", ")} is left out`);
        }
      }
    },
  },
  {
    code: "capabilities-kept",
    section: "8.4",
    rule: "capabilities that promise moves come with their methods, and stay as they are",
    run: async (harness) => {
      const on = await harness.connect();
      const promise = on.host.capabilities.supportsMigrateToSameHost;
      const rule = "be there with supportsMigrateToSameHost";
      must(!promise || on.host.supports("migrateDiskAndPowerOff"), "migrateDiskAndPowerOff", rule, "it is left out");
      const before = JSON.stringify(on.bare.capabilities);
      await harness.spawned(on);
      const after = JSON.stringify(on.bare.capabilities);
      must(after === before, "initHost", "leave capabilities as they are", `found ${after} after ${before}`);
    },
  },
  {
    code: "events-are-of-guests",
    section: "8.5",
    rule: "events name guests of this host, and the moment at which it happened",
    run: async (harness) => {
      const on = await harness.connect();
      const began = harness.now();
      const instance = await harness.spawned(on);
      await on.host.powerOff(instance);
      await on.host.powerOn(instance);
      await on.host.destroy(instance, { ...DEVICES, destroyDisks: true });
      await harness.wait(30);
      const strange = harness.events.find(({ uuid }) => uuid !== instance.uuid);
      must(strange === undefined, "initHost", "emit events of its guests only", `found one of ${strange?.uuid}`);
      const [from, to] = [began - CLOCKS_APART, harness.now() + CLOCKS_APART];
      const untimely = harness.events.find(({ timestamp }) => timestamp < from || timestamp > to);
      const rule = "emit events with the time at which it happened, in milliseconds since the epoch";
      must(untimely === undefined, "initHost", rule, `found ${untimely?.timestamp} at ${harness.now()}`);
      const dropped = harness.complaints.find((message) => message.includes("emitEvent"));
      must(dropped === undefined, "initHost", "emit events that are events", dropped ?? "");
    },
  },
  {
    code: "events-imply-state",
    section: "8.5",
    rule: "an event of what happened after a method returned implies the state that the method left",
    run: async (harness) => {
      const on = await harness.connect();
      const instance = await harness.spawned(on);
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
    },
  },
  {
    code: "storage-not-shared",
    section: "3.3",
    rule: "the storage probe finds its own token here, and not on a host that has other storage",
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
];
