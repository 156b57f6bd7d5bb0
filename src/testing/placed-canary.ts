import type { Instance } from "../virt/index.js";
import { ContractViolation } from "./contract-case.js";
import type { CheckedHost, DriverLab } from "./driver-harness.js";
import type { CanaryPlace } from "./options.js";

export type Keeper = "disk" | "memory";

/** Text that was put into a guest. */
export class PlacedCanary {
  readonly #lab: DriverLab;
  readonly #place: CanaryPlace;
  readonly #keeper: Keeper;
  readonly #text: string;

  constructor(lab: DriverLab, place: CanaryPlace, keeper: Keeper, text: string) {
    this.#lab = lab;
    this.#place = place;
    this.#keeper = keeper;
    this.#text = text;
  }

  /** @throws {CanaryUnfit} what is written cannot be read, or was there before. */
  static async put(lab: DriverLab, on: CheckedHost, instance: Instance, keeper: Keeper): Promise<PlacedCanary> {
    const { canary } = lab.options;
    const place = keeper === "disk" ? canary : canary?.memory;
    if (place === undefined) {
      throw new CanaryUnfit(`the option canary has nothing for the ${keeper}`);
    }
    const text = `canary ${instance.uuid.slice(0, 8)}`;
    const guest = lab.canaryGuest(on, instance);
    if ((await place.read(guest)) === text) {
      throw new CanaryUnfit(`canary.read finds in the ${keeper} what nobody has written yet`);
    }
    await place.write(guest, text);
    const found = await place.read(guest);
    if (found !== text) {
      throw new CanaryUnfit(
        `canary.read gives ${shown(found)} of the ${keeper}, just after canary.write wrote ${text}`,
      );
    }
    return new PlacedCanary(lab, place, keeper, text);
  }

  /** @throws {ContractViolation} it is no longer there. */
  async mustBeIn(on: CheckedHost, instance: Instance, method: string, when: string): Promise<void> {
    const rule = `keep the guest's ${this.#keeper} ${when}`;
    let found: string | undefined;
    try {
      found = await this.#place.read(this.#lab.canaryGuest(on, instance));
    } catch (error) {
      throw new ContractViolation(method, rule, `canary.read threw ${String(error)}`, { cause: error });
    }
    if (found !== this.#text) {
      const what = found === undefined || found === "" ? "it is gone" : `found ${shown(found)} instead`;
      throw new ContractViolation(method, rule, `of the data that was put there ${what}`);
    }
  }
}

/** The canary of the check's options is at fault, not the driver. */
class CanaryUnfit extends Error {
  override readonly name = "CanaryUnfit";
}

function shown(text: string | undefined): string {
  return text === undefined ? "nothing" : JSON.stringify(text.slice(0, 80));
}
