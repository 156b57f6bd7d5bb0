import { check, driver } from "../../../drivers/fake-libvirt/index.js";
import { describeDriver } from "../../../src/testing/index.js";

describeDriver(driver, check);
