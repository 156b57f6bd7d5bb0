import { driver } from "../../../drivers/fake-libvirt/index.js";
import { describeDriver } from "../../../src/testing/index.js";
import { FAKE_LIBVIRT } from "./fake-libvirt.js";

describeDriver(driver, FAKE_LIBVIRT);
