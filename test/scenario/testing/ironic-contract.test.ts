import { driver } from "../../../drivers/ironic/index.js";
import { describeDriver } from "../../../src/testing/index.js";
import { IRONIC } from "../../unit/testing/ironic.js";

describeDriver(driver, IRONIC);
