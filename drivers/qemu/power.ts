import { type Instance, InstanceNotRunning } from "../../src/virt/index.js";
import { guestName } from "./definition.js";
import type { Guests, HypervisorParts } from "./guests.js";

/** Starting and stopping a guest, and letting it stand still. */
export class Power {
  readonly #parts: HypervisorParts;
  readonly #guests: Guests;

  constructor(parts: HypervisorParts, guests: Guests) {
    this.#parts = parts;
    this.#guests = guests;
  }

  /** @param timeout seconds that the guest has to shut down by itself. @throws {GuestNotFound} */
  async off(instance: Instance, timeout: number, signal: AbortSignal | undefined): Promise<void> {
    await this.#guests.state(instance);
    await this.#guests.stop(instance.uuid, timeout, signal);
  }

  /** As Nova's libvirt driver does: whatever it was doing, it boots, unless it runs. @throws {GuestNotFound} */
  async on(instance: Instance, signal: AbortSignal | undefined): Promise<void> {
    if ((await this.#guests.state(instance)) !== "running") {
      await this.#guests.boot(instance, signal);
    }
  }

  /** A guest that does not shut down in time for a soft reboot is rebooted hard. @throws {GuestNotFound} */
  async reboot(instance: Instance, type: "SOFT" | "HARD", signal: AbortSignal | undefined): Promise<void> {
    if (type === "SOFT" && (await this.#guests.state(instance)) === "running") {
      const qemu = await this.#guests.active(instance);
      await this.#guests.shutDown(qemu, this.#parts.config.waitSoftRebootSeconds, signal);
    }
    await this.#guests.hardReboot(instance, signal);
  }

  pause(instance: Instance, signal: AbortSignal | undefined): Promise<void> {
    return this.#runCommand(instance, "stop", signal);
  }

  unpause(instance: Instance, signal: AbortSignal | undefined): Promise<void> {
    return this.#runCommand(instance, "cont", signal);
  }

  /** A suspended guest stays so, and is resumed when its owner wants that. */
  async resumeOnBoot(instance: Instance, signal: AbortSignal | undefined): Promise<void> {
    const state = await this.#guests.find(instance.uuid);
    if (state === undefined || state === "shutoff" || state === "crashed") {
      await this.#guests.hardReboot(instance, signal);
    }
  }

  /** @throws {GuestNotFound} {@link InstanceNotRunning} */
  async #runCommand(instance: Instance, command: "stop" | "cont", signal: AbortSignal | undefined): Promise<void> {
    const qemu = await this.#guests.active(instance);
    await this.#parts.lease.assertCurrentEpoch();
    await this.#guests.use(qemu, (execute) => execute(command), signal);
    const expectedState = command === "stop" ? "paused" : "running";
    const found = await this.#guests.state(instance);
    if (found !== expectedState) {
      throw new InstanceNotRunning(
        `guest ${guestName(instance)} (${instance.uuid}) is ${found}, expected ${expectedState}`,
      );
    }
  }
}
