import type { BuiltInDrivers } from "../../virt/load-driver.js";

/** Drivers that come with the package; each is loaded only when it is named. */
export const BUILT_IN_DRIVERS: BuiltInDrivers = {
  "fake-libvirt": () => import("../../../drivers/fake-libvirt/index.js"),
};
