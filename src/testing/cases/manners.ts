import { DEFAULT_GRACE } from "../../virt/driver-call.js";
import type { DriverMethod } from "../../virt/driver-methods.js";
import type { Instance } from "../../virt/index.js";
import { type ContractCase, must, succeeds } from "../contract-case.js";
import type { CheckedHost, DriverHarness } from "../driver-harness.js";
import { DEVICES } from "../objects.js";
import { mustBe } from "./guest-state.js";

const DESTROY = { ...DEVICES, destroyDisks: true } as const;

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

/** Section 8: what goes for every method. */
export const MANNERS_CASES: readonly ContractCase[] = [
  {
    code: "instances-unchanged",
    section: "8",
    rule: "instances are read-only: no method changes the one that it is given",
    run: async (harness) => {
      const on = await harness.connect();
      // The object is not frozen, so that a change is found also where it would be ignored.
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
    rule: `spawn and powerOff settle, well or not, within ${DEFAULT_GRACE / 1000} s of the abort of their signal`,
    run: async (harness) => {
      const on = await harness.connect();
      const instance = await harness.instance(on);
      await on.host.prepareForSpawn(instance);
      const options = await harness.spawnOptions(on, instance);
      const rule = "settle soon after its signal was aborted";
      const mustSettle = async (method: DriverMethod, call: (signal: AbortSignal) => Promise<unknown>) => {
        const stop = new AbortController();
        const work = call(stop.signal);
        stop.abort(new Error("the agent has given it up"));
        must(await harness.settles(work, DEFAULT_GRACE), method, rule, "it goes on");
      };
      await mustSettle("spawn", (signal) =>
        on.bare.spawn(instance, { ...options, image: { ...options.image, open: async () => null }, signal }),
      );
      await succeeds(on.host.destroy(instance, DESTROY), "destroy", "remove what a stopped spawn left");
      await mustBe(on, instance, "absent", "destroy", "of a stopped spawn");
      // Another node may be needed: the first may take its time to be free again.
      const next = await harness.spawned(on);
      await mustSettle("powerOff", (signal) => on.bare.powerOff(next, { signal }));
    },
  },
];
