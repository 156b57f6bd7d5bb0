import { defineDriver, VIRT_API_VERSION } from "../../src/virt/index.js";
import { ironicSchema } from "./config.js";
import { IronicDriver } from "./ironic-driver.js";

/** `compute_driver = ironic` */
export const driver = defineDriver({
  name: "ironic",
  apiVersion: VIRT_API_VERSION,
  configSchema: ironicSchema,
  create: (context) => new IronicDriver(context),
});
