import type { Random } from "../runtime/cryptography.js";
import { FileFailure, type Files } from "../runtime/files.js";
import type { Logger } from "../runtime/runtime.js";
import { StartRejectedError } from "./rejections.js";

const FILE_NAME = "compute_id";

const UUID = /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;

export interface IdentityFileOptions {
  readonly files: Files;
  readonly random: Random;
  /** All configuration files in use: their folders are searched first. */
  readonly configFiles: readonly string[];
  /** `state_path`: searched last, and the only folder that is written to. */
  readonly statePath: string;
}

/** The host's stable uuid, in a file named `compute_id` (spec 2.3). */
export class IdentityFile {
  readonly #options: IdentityFileOptions;
  #found: { readonly uuid: string; readonly path: string } | null = null;
  /** Returned to callers, but not on disk until the ownership guard has passed. */
  #provisional: string | null = null;
  #writable = false;

  constructor(options: IdentityFileOptions) {
    this.#options = options;
  }

  /** The path at which a new file would be written. */
  get path(): string {
    return `${this.#options.statePath}/${FILE_NAME}`;
  }

  /** Returns the uuid and its file; null: there is no file. @throws {StartRejectedError} */
  async read(): Promise<{ readonly uuid: string; readonly path: string } | null> {
    if (this.#found) {
      return this.#found;
    }
    const found: { uuid: string; path: string }[] = [];
    const { configFiles, statePath } = this.#options;
    const folders = configFiles.map((file) => file.replace(/\/[^/]*$/, "") || "/");
    for (const folder of new Set([...folders, statePath])) {
      const path = `${folder}/${FILE_NAME}`;
      const text = await this.#read(path);
      if (text !== undefined) {
        found.push({ uuid: parse(text, path), path });
      }
    }
    const [first] = found;
    const other = found.find(({ uuid }) => uuid !== first?.uuid);
    if (first && other) {
      throw new StartRejectedError("identity-ambiguous", {
        found: `UUID ${other.uuid} in ${other.path} does not match ${first.uuid} in ${first.path}`,
        hint: "keep the file whose uuid the host's compute node has (`openstack hypervisor show` prints it), and remove the other",
        records: { [first.path]: first.uuid, [other.path]: other.uuid },
      });
    }
    this.#found = first ?? null;
    return this.#found;
  }

  /**
   * Returns the host's uuid; generates one if there is none. It stays in memory until {@link allowWrites}, so that a
   * rejected agent or a dry run leaves no file behind.
   */
  async localNodeUuid(): Promise<string> {
    if (this.#provisional !== null) {
      return this.#provisional;
    }
    const found = await this.read();
    if (found) {
      return found.uuid;
    }
    this.#provisional ??= this.#options.random.uuid();
    const handedOut = this.#provisional;
    if (this.#writable) {
      await this.write(handedOut);
    }
    return handedOut;
  }

  /**
   * Called when the ownership guard has passed. Writes a uuid that was already returned; later ones are written
   * immediately.
   * @throws {StartRejectedError} another uuid appeared meanwhile: the guard's checks apply to the uuid returned
   * before
   */
  async allowWrites(): Promise<void> {
    this.#writable = true;
    if (this.#provisional !== null) {
      await this.write(this.#provisional);
    }
  }

  /** Makes the uuid the host's. @throws {StartRejectedError} the file exists, or could not be written */
  async write(uuid: string): Promise<void> {
    try {
      await this.#options.files.create(this.path, `${uuid}\n`);
    } catch (error) {
      if (!(error instanceof FileFailure)) {
        throw error;
      }
      throw new StartRejectedError("identity-not-writable", {
        found:
          error.code === "EEXIST"
            ? `uuid ${uuid} could not be written to ${this.path}: the file appeared meanwhile`
            : `uuid ${uuid} could not be written to ${this.path}: ${error.code}`,
        hint: "make sure that state_path is writable and belongs to this host alone, then start again",
        records: { [this.path]: error.code },
      });
    }
    this.#found = { uuid, path: this.path };
    this.#provisional = null;
  }

  async #read(path: string): Promise<string | undefined> {
    try {
      return await this.#options.files.readIfPresent(path);
    } catch (error) {
      if (!(error instanceof FileFailure)) {
        throw error;
      }
      throw new StartRejectedError("identity-unparseable", {
        found: `file ${path} could not be read: ${error.code}`,
        hint: "make it readable for the agent; it contains the uuid of the host's compute node",
        records: { [path]: error.code },
      });
    }
  }
}

function parse(text: string, path: string): string {
  const value = text.slice(0, 40).trim();
  if (!UUID.test(value)) {
    throw new StartRejectedError("identity-unparseable", {
      found: `Unable to parse UUID from ${path}: it contains ${JSON.stringify(value)}`,
      hint: "write the uuid of the host's compute node into it (`openstack hypervisor show` prints it)",
      records: { [path]: value },
    });
  }
  const hex = value.toLowerCase().replaceAll("-", "");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** A driver, as recorded for a host. */
export interface RecordedDriver {
  /** The name in its definition, independent of where it was loaded from. */
  readonly name: string;
  /** `compute_driver`, as configured at that time. */
  readonly computeDriver: string;
}

interface DriverRecordOptions {
  readonly files: Files;
  readonly logger: Logger;
  readonly host: string;
  readonly statePath: string;
  /** The driver of this agent. */
  readonly driver: RecordedDriver;
}

/** The record of the driver that runs a host's guests, in a file of `state_path` (spec 2.4 g). */
export class DriverRecord {
  readonly path: string;
  readonly #options: DriverRecordOptions;

  constructor(options: DriverRecordOptions) {
    this.path = driverRecordPath(options.statePath, options.host);
    this.#options = options;
  }

  /** Reads the record; undefined if there is none. @throws {FileFailure} {Error} it is empty */
  read(): Promise<RecordedDriver | undefined> {
    return readDriverRecord(this.#options.files, this.path);
  }

  /**
   * Binds the host to this driver; called when the guard has passed. If the file cannot be written, the agent serves
   * anyway, and the next start uses the node's record again.
   */
  async write(): Promise<void> {
    const { files, logger, driver } = this.#options;
    const text = `${driver.name}\n${driver.computeDriver}\n`;
    try {
      if ((await files.readIfPresent(this.path)) !== text) {
        await files.write(this.path, text);
      }
    } catch (error) {
      if (!(error instanceof FileFailure)) {
        throw error;
      }
      logger.warn("could not record the name of this host's driver", { err: error });
    }
  }
}

export function driverRecordPath(statePath: string, host: string): string {
  return `${statePath}/compute_driver.${host}`;
}

/** Reads the record; undefined if there is none. @throws {FileFailure} {Error} it is empty */
export async function readDriverRecord(files: Files, path: string): Promise<RecordedDriver | undefined> {
  const text = await files.readIfPresent(path);
  if (text === undefined) {
    return undefined;
  }
  const [name = "", computeDriver = name] = text.split("\n").map((line) => line.trim());
  if (name === "") {
    const expected = "expected the name of the driver that runs this host's guests";
    throw new Error(`${path} is empty; ${expected}`);
  }
  return { name, computeDriver };
}
