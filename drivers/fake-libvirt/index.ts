import { defineDriver, VIRT_API_VERSION } from "../../src/virt/index.js";
import { fakeLibvirtSchema } from "./config.js";
import { FakeLibvirtDriver } from "./fake-libvirt-driver.js";

export { check } from "./check.js";

/** `compute_driver = fake-libvirt` */
export const driver = defineDriver({
  name: "fake-libvirt",
  apiVersion: VIRT_API_VERSION,
  configSchema: fakeLibvirtSchema,
  create: (context) => new FakeLibvirtDriver(context),
});
