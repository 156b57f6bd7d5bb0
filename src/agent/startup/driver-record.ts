import { FileFailure, type Files } from "../../runtime/files.js";
import type { Logger } from "../../runtime/logger.js";

/** How a driver is recorded. */
export interface RecordedDriver {
  /** The name in its definition, whatever it was loaded from. */
  readonly name: string;
  /** `compute_driver` as it was given then. */
  readonly computeDriver: string;
}

export interface DriverRecordOptions {
  readonly files: Files;
  readonly logger: Logger;
  readonly host: string;
  readonly statePath: string;
  /** The driver that this agent has. */
  readonly driver: RecordedDriver;
}

/** Which driver a host's guests are of, in a file of `state_path` (spec 2.4 g). */
export class DriverRecord {
  readonly path: string;
  readonly #files: Files;
  readonly #logger: Logger;
  readonly #driver: RecordedDriver;

  constructor({ files, logger, host, statePath, driver }: DriverRecordOptions) {
    this.path = driverRecordPath(statePath, host);
    this.#files = files;
    this.#logger = logger;
    this.#driver = driver;
  }

  /** Undefined: there is no record. @throws {FileFailure} {@link NotADriverRecord} */
  read(): Promise<RecordedDriver | undefined> {
    return readDriverRecord(this.#files, this.path);
  }

  /**
   * The guard has let the agent pass: from now on the host is bound to this driver. A disk that takes no file does not
   * keep an agent from serving; the next start then goes by the node's record again.
   */
  async write(): Promise<void> {
    const { name, computeDriver } = this.#driver;
    const text = `${name}\n${computeDriver}\n`;
    try {
      if ((await this.#files.readIfPresent(this.path)) !== text) {
        await this.#files.write(this.path, text);
      }
    } catch (error) {
      if (!(error instanceof FileFailure)) {
        throw error;
      }
      this.#logger.warn("the name of this host's driver could not be recorded", { err: error });
    }
  }
}

/** The file says nothing. */
export class NotADriverRecord extends Error {
  override readonly name = "NotADriverRecord";

  constructor(path: string) {
    super(`${path} is empty; expected the name of the driver that this host's guests are of`);
  }
}

export function driverRecordPath(statePath: string, host: string): string {
  return `${statePath}/compute_driver.${host}`;
}

/** Undefined: there is no record. @throws {FileFailure} {@link NotADriverRecord} */
export async function readDriverRecord(files: Files, path: string): Promise<RecordedDriver | undefined> {
  const text = await files.readIfPresent(path);
  if (text === undefined) {
    return undefined;
  }
  const [name = "", computeDriver = name] = text.split("\n").map((line) => line.trim());
  if (name === "") {
    throw new NotADriverRecord(path);
  }
  return { name, computeDriver };
}
