import type { Instance } from "../../../records/index.js";
import type { DriverHost } from "../../../virt/driver-host.js";
import { GuestNotFound } from "../../../virt/errors.js";

/** What a restart repeats, or another operation has overtaken, may find its guest gone already. */
export async function powerOffIfThere(driver: DriverHost, instance: Instance): Promise<void> {
  try {
    await driver.powerOff(instance);
  } catch (error) {
    if (!(error instanceof GuestNotFound)) {
      throw error;
    }
  }
}
