import type { DriverHost } from "../../virt/driver-host.js";
import type { DriverMethod } from "../../virt/driver-methods.js";
import type { Instance, POWER_STATES } from "../../virt/index.js";
import { type ContractCase, failsWith, inSection, mustBe, onGuest, succeeds } from "../contract-case.js";
import { DEVICES, frozen, imageOf } from "../harness-fixtures.js";

type Change = (host: DriverHost, instance: Instance) => Promise<void>;
type State = keyof typeof POWER_STATES;

/** Creates two cases: the method works on a running guest that `first` has prepared, and fails without a guest. */
function changes(
  method: DriverMethod,
  change: Change,
  to: State,
  first: { readonly change: Change; readonly needs?: readonly DriverMethod[]; readonly label: string } | null = null,
): readonly ContractCase[] {
  const needs = [method, ...(first?.needs ?? [])];
  return [
    {
      code: `${kebab(method)}-state`,
      section: "8.2",
      rule: `${method} leaves ${first?.label ?? "a running guest"} ${to}`,
      needs,
      run: onGuest(async (on, instance) => {
        await first?.change(on.host, instance);
        await succeeds(change(on.host, instance), method, `work on ${first?.label ?? "a running guest"}`);
        await mustBe(on, instance, to, method, "when it is done");
      }),
    },
    {
      code: `${kebab(method)}-absent`,
      section: "8.2",
      rule: `${method} of a missing guest throws InstanceNotFound`,
      needs,
      run: async (harness) => {
        const on = await harness.connect();
        const work = change(on.host, await harness.instance(on));
        await failsWith(work, ["InstanceNotFound"], method, "for a missing guest");
      },
    },
  ];
}

function again(method: DriverMethod, change: Change, to: State): ContractCase {
  return {
    code: `${kebab(method)}-again`,
    section: "8.2",
    rule: `${method} can be repeated`,
    needs: [method],
    run: onGuest(async (on, instance) => {
      await change(on.host, instance);
      await succeeds(change(on.host, instance), method, "succeed when it is repeated");
      await mustBe(on, instance, to, method, "that was in that state already");
    }),
  };
}

const kebab = (method: string): string => method.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const off: Change = (host, instance) => host.powerOff(instance);
const start: Change = (host, instance) => host.powerOn(instance);
const rescue: Change = (host, instance) => host.rescue(instance, { ...DEVICES, image: frozen(imageOf()) });

/** Section 8.2: changes of existing guests. */
export const POWER_CASES: readonly ContractCase[] = inSection("8.2", [
  ...changes("powerOff", off, "shutdown"),
  again("powerOff", off, "shutdown"),
  ...changes("powerOn", start, "running", { change: off, label: "a guest that is shut down" }),
  again("powerOn", start, "running"),
  ...changes("reboot", (host, instance) => host.reboot(instance, "SOFT"), "running"),
  {
    code: "reboot-hard",
    rule: "reboot HARD starts a guest that was shut down",
    run: onGuest(async (on, instance) => {
      await on.host.powerOff(instance);
      await succeeds(on.host.reboot(instance, "HARD"), "reboot", "work on a guest that is shut down, with HARD");
      await mustBe(on, instance, "running", "reboot", "with HARD");
    }),
  },
  {
    code: "reboot-hard-absent",
    rule: "reboot HARD recreates a missing guest",
    run: onGuest(async (on, instance) => {
      await on.host.destroy(instance, { ...DEVICES, destroyDisks: false });
      await succeeds(on.host.reboot(instance, "HARD"), "reboot", "recreate a missing guest, with HARD");
      await mustBe(on, instance, "running", "reboot", "that was missing, with HARD");
    }),
  },
  ...changes("powerUpdateEvent", (host, instance) => host.powerUpdateEvent(instance, "POWER_OFF"), "shutdown", {
    change: off,
    label: "a guest that is shut down",
  }),
  ...changes("pause", (host, instance) => host.pause(instance), "paused"),
  ...changes("unpause", (host, instance) => host.unpause(instance), "running", {
    change: (host, instance) => host.pause(instance),
    needs: ["pause"],
    label: "a paused guest",
  }),
  ...changes("suspend", (host, instance) => host.suspend(instance), "suspended"),
  ...changes("resume", (host, instance) => host.resume(instance), "running", {
    change: (host, instance) => host.suspend(instance),
    needs: ["suspend"],
    label: "a suspended guest",
  }),
  ...changes("rescue", rescue, "running"),
  ...changes("unrescue", (host, instance) => host.unrescue(instance), "running", {
    change: rescue,
    needs: ["rescue"],
    label: "a rescued guest",
  }),
  {
    code: "unrescue-not-rescued",
    rule: "unrescue of a guest that was not rescued is success",
    needs: ["unrescue"],
    run: onGuest(async (on, instance) => {
      await succeeds(on.host.unrescue(instance), "unrescue", "succeed for a guest that was not rescued");
      await mustBe(on, instance, "running", "unrescue", "that was not rescued");
    }),
  },
  {
    code: "resume-on-host-boot",
    rule: "resumeStateOnHostBoot starts a guest that the host's boot stopped, and leaves a running one running",
    needs: ["resumeStateOnHostBoot"],
    run: onGuest(async (on, instance) => {
      await succeeds(on.host.resumeStateOnHostBoot(instance), "resumeStateOnHostBoot", "leave a running guest running");
      await mustBe(on, instance, "running", "resumeStateOnHostBoot", "that ran already");
      await on.host.powerOff(instance);
      await succeeds(on.host.resumeStateOnHostBoot(instance), "resumeStateOnHostBoot", "start a stopped guest");
      await mustBe(on, instance, "running", "resumeStateOnHostBoot", "that was stopped");
    }),
  },
  {
    code: "power-off-keeps-others",
    rule: "powerOff stops only the requested guest, and the next driver finds it stopped",
    run: onGuest(async (on, instance, harness) => {
      await on.host.powerOff(instance);
      await on.host.cleanupHost();
      await mustBe(await harness.connect(), instance, "shutdown", "powerOff", "for the next driver too");
    }),
  },
]);
