import type { CheckPlace, DriverCheckOptions } from "../../src/testing/index.js";
import { defineDriver, VIRT_API_VERSION } from "../../src/virt/index.js";
import { fakeLibvirtSchema } from "./config.js";
import { FakeLibvirtDriver } from "./fake-libvirt-driver.js";

/** `compute_driver = fake-libvirt` */
export const driver = defineDriver({
  name: "fake-libvirt",
  apiVersion: VIRT_API_VERSION,
  configSchema: fakeLibvirtSchema,
  create: (context) => new FakeLibvirtDriver(context),
});

const connection = ({ host, folder }: CheckPlace) => ({ connectionUri: `fake-libvirt://${folder}/${host}` });

const devices = { devices: ["0000:81:00.0=VGPU:4"] };

/** How the contract check runs this driver: in virtual time, so that slow live migrations cost nothing. */
export const check: DriverCheckOptions = {
  time: "virtual",
  config: (place) => ({ ...connection(place), delayLiveMigration: 2, stopEventDelay: 0 }),
  reshape: {
    before: (place) => ({ ...connection(place), ...devices, nestedDevices: false }),
    after: (place) => ({ ...connection(place), ...devices, nestedDevices: true }),
  },
};
