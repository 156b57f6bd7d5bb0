import { defineDriver, VIRT_API_VERSION } from "../../src/virt/index.js";
import { qemuSchema } from "./config.js";
import { QemuDriver } from "./qemu-driver.js";

export { check } from "./check.js";

/** `compute_driver = qemu` */
export const driver = defineDriver({
  name: "qemu",
  apiVersion: VIRT_API_VERSION,
  configSchema: qemuSchema,
  create: (context) => new QemuDriver(context),
});
