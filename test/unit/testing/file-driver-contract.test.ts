import { describeDriver } from "../../../src/testing/index.js";
import { FILE_DRIVER, fileDriver } from "./file-driver.js";

describeDriver(fileDriver, FILE_DRIVER);
