import { fileURLToPath, pathToFileURL } from "node:url";
import type { DriverCheckOptions } from "../../../src/testing/index.js";
import type { DriverDefinition } from "../../../src/virt/index.js";

const FOLDER = fileURLToPath(new URL("../../fixtures/file-driver", import.meta.url));

async function exported<T>(file: string): Promise<T> {
  return (await import(pathToFileURL(`${FOLDER}/${file}`).href)) as T;
}

const { driver } = await exported<{ readonly driver: DriverDefinition }>("index.js");
const { check } = await exported<{ readonly check: DriverCheckOptions }>("check.js");

/** A driver whose guests have an accessible disk and memory. */
export const fileDriver = driver;

/** Options of its check, with canaries. */
export const FILE_DRIVER: DriverCheckOptions = { ...check, time: "virtual" };
