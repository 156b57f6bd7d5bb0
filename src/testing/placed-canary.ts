import type { Instance } from "../virt/index.js";
import { ContractViolation } from "./contract-case.js";
import type { CheckedHost, DriverHarness } from "./driver-harness.js";
import type { CanaryPlace } from "./options.js";

export type Keeper = "disk" | "memory";

/** Text that was put into a guest. */
export class PlacedCanary {
  readonly #harness: DriverHarness;
  readonly #place: CanaryPlace;
  readonly #keeper: Keeper;
  readonly #text: string;

  constructor(harness: DriverHarness, place: CanaryPlace, keeper: Keeper, text: string) {
    this.#harness = harness;
    this.#place = place;
    this.#keeper = keeper;
    this.#text = text;
  }

  /** @throws {CanaryUnfit} what is written cannot be read, or was there before. */
  static async put(harness: DriverHarness, on: CheckedHost, instance: Instance, keeper: Keeper): Promise<PlacedCanary> {
    const { canary } = harness.options;
    const place = keeper === "disk" ? canary : canary?.memory;
    if (place === undefined) {
      throw new CanaryUnfit(`the option canary has nothing for the ${keeper}`);
    }
    const text = `canary ${instance.uuid.slice(0, 8)}`;
    const guest = harness.canaryGuest(on, instance);
    if ((await place.read(guest)) === text) {
      throw new CanaryUnfit(`canary.read finds in the ${keeper} what nobody has written yet`);
    }
    await place.write(guest, text);
    const found = await place.read(guest);
    if (found !== text) {
      throw new CanaryUnfit(
        `canary.read gives ${describeText(found)} of the ${keeper}, just after canary.write wrote ${text}`,
      );
    }
    return new PlacedCanary(harness, place, keeper, text);
  }

  /** @throws {ContractViolation} it is no longer there. */
  async mustBeIn(on: CheckedHost, instance: Instance, method: string, when: string): Promise<void> {
    const rule = `keep the guest's ${this.#keeper} ${when}`;
    let found: string | undefined;
    try {
      found = await this.#place.read(this.#harness.canaryGuest(on, instance));
    } catch (error) {
      throw new ContractViolation(method, rule, `canary.read threw ${String(error)}`, { cause: error });
    }
    if (found !== this.#text) {
      const what = found === undefined || found === "" ? "it is gone" : `found ${describeText(found)} instead`;
      throw new ContractViolation(method, rule, `of the data that was put there ${what}`);
    }
  }
}

/** The canary of the check's options is at fault, not the driver. */
class CanaryUnfit extends Error {
  override readonly name = "CanaryUnfit";
}

function describeText(text: string | undefined): string {
  return text === undefined ? "nothing" : JSON.stringify(text.slice(0, 80));
}
