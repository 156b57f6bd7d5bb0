import type { DriverOperationOptions, Instance, RescueOptions } from "../../src/virt/index.js";
import { RESCUE_DISK } from "./command-line.js";
import { assertSupportedImage } from "./definition.js";
import type { Guests, HypervisorParts } from "./guests.js";

/** Booting a guest from another image, with its own disks beside, and back. */
export class Rescue {
  readonly #parts: HypervisorParts;
  readonly #guests: Guests;

  constructor(parts: HypervisorParts, guests: Guests) {
    this.#parts = parts;
    this.#guests = guests;
  }

  /** @throws {GuestNotFound} {@link BuildAbortException} */
  async rescue(instance: Instance, { image, signal }: RescueOptions): Promise<void> {
    const { definitions, disks, layout } = this.#parts;
    assertSupportedImage(image);
    const definition = await this.#guests.definition(instance);
    await disks.makeRescue(layout.disk(instance.uuid, RESCUE_DISK), image, signal);
    await definitions.put({ ...definition, rescued: true });
    await this.#guests.boot(instance, signal);
  }

  /** @throws {GuestNotFound} */
  async unrescue(instance: Instance, options: DriverOperationOptions | undefined): Promise<void> {
    const { definitions, context, layout, lease } = this.#parts;
    const definition = await this.#guests.definition(instance);
    if (definition.rescued) {
      await lease.assertCurrentEpoch();
      await definitions.put({ ...definition, rescued: false });
      await this.#guests.boot(instance, options?.signal);
    }
    await context.files.remove(layout.disk(instance.uuid, RESCUE_DISK));
  }
}
