import { connectionTo } from "../../../drivers/fake-libvirt/hypervisor.js";
import { Derived, literal, option, type SectionTable } from "../../config/option.js";
import { text } from "../../config/value-type.js";
import type { DriverDefinition } from "../../virt/driver.js";
import { driverSections } from "../../virt/driver-sections.js";
import type { BuiltInDrivers } from "../../virt/load-driver.js";

/** Drivers that come with the package. Each module is loaded only when `compute_driver` names it. */
export const BUILT_IN_DRIVERS: BuiltInDrivers = {
  "fake-libvirt": () => import("../../../drivers/fake-libvirt/index.js"),
  ironic: () => import("../../../drivers/ironic/index.js"),
  qemu: () => import("../../../drivers/qemu/index.js"),
};

/** Maps nova-compute's drivers to the equivalent driver here and the location of its options. */
export const NOVA_DRIVERS: Readonly<Record<string, string>> = {
  "libvirt.LibvirtDriver":
    "use fake-libvirt (emulated guests, options in [fake_libvirt]) or qemu (guests as QEMU processes, options in [qemu]): " +
    "-o compute_driver=fake-libvirt",
  "ironic.IronicDriver": "use ironic, which reads [ironic]: -o compute_driver=ironic",
  "fake.FakeDriver": "use fake-libvirt (emulated guests, options in [fake_libvirt]): -o compute_driver=fake-libvirt",
};

/** Defaults of driver options that depend on the agent's state directory, which a driver does not know. */
const PLACE_DEFAULTS: SectionTable = {
  fake_libvirt: {
    connection_uri: option(
      text,
      new Derived(
        "fake-libvirt://<state-dir>/hypervisors/$host",
        ({ stateDir }) => `${literal(connectionTo(stateDir))}/hypervisors/$host`,
      ),
      "Hypervisor: fake-libvirt:///absolute/folder. The folder is created at its first use, and its guests outlive the agent.",
    ),
  },
  qemu: {
    folder: option(
      text,
      new Derived("<state-dir>/qemu/$host", ({ stateDir }) => `${literal(stateDir)}/qemu/$host`),
      "Folder of the guests, as an absolute path: definitions, disks, running processes. It is created at its first use, " +
        "and its guests outlive the agent.",
    ),
    images_path: option(
      text,
      new Derived("<state-dir>/images", ({ stateDir }) => `${literal(stateDir)}/images`),
      "Folder of images that have no data in the Image service, as an absolute path: <id>.qcow2 or <id>.raw. A guest whose " +
        "image has no data gets an empty disk.",
    ),
  },
};

/** Returns the options that a driver declares, with the defaults of this program where it has better ones. */
export function optionsOf(driver: DriverDefinition): SectionTable {
  return Object.fromEntries(
    Object.entries(driverSections(driver)).map(([section, options]) => [
      section,
      { ...options, ...PLACE_DEFAULTS[section] },
    ]),
  );
}
