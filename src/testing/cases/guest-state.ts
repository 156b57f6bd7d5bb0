import type { DriverMethod } from "../../virt/driver-methods.js";
import { type Instance, POWER_STATES, type PowerState } from "../../virt/index.js";
import { must } from "../contract-case.js";
import type { CheckedHost } from "../driver-harness.js";

/** By name, for messages. */
function stateName(state: PowerState): string {
  return Object.entries(POWER_STATES).find(([, number]) => number === state)?.[0] ?? String(state);
}

/** What `getInfo` and the list of guests say together. */
export async function guestOn({ host }: CheckedHost, instance: Instance): Promise<PowerState | "absent"> {
  return (await host.listInstanceUuids()).includes(instance.uuid) ? host.powerState(instance) : "absent";
}

export const wordFor = (state: PowerState | "absent"): string => (state === "absent" ? "absent" : stateName(state));

/** @throws {ContractViolation} */
export async function mustBe(
  on: CheckedHost,
  instance: Instance,
  expected: keyof typeof POWER_STATES | "absent",
  method: DriverMethod,
  when: string,
): Promise<void> {
  const found = await guestOn(on, instance);
  const held = expected === "absent" ? found === "absent" : found === POWER_STATES[expected];
  const rule = expected === "absent" ? `leave no guest ${when}` : `leave the guest ${expected} ${when}`;
  must(held, method, rule, `the guest is ${wordFor(found)} on ${on.name}`);
}
