import { isAbsolute, join, normalize } from "node:path";
import {
  type Clock,
  type DriverContext,
  FileFailure,
  type Files,
  InvalidConfiguration,
  type Random,
  type Timers,
  VirtDriverNotReady,
} from "../../src/virt/index.js";
import type { FakeLibvirtConfig } from "./config.js";

/** The stored identity of the hypervisor, written once by the first agent that uses it. */
export interface HypervisorIdentity {
  /** The hostname that all agents of this hypervisor report. */
  readonly hostname: string;
  readonly uuid: string;
}

/** The layout of a hypervisor's folder. */
export class HypervisorFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  get identityFile(): string {
    return join(this.path, "hypervisor.json");
  }
  get domains(): string {
    return join(this.path, "domains");
  }
  get states(): string {
    return join(this.path, "state");
  }
  get instances(): string {
    return join(this.path, "instances");
  }
  get migrations(): string {
    return join(this.path, "migrations");
  }
  get fences(): string {
    return join(this.path, "fences");
  }
  domainFile(uuid: string): string {
    return join(this.domains, `${uuid}.xml`);
  }
  stateFile(uuid: string): string {
    return join(this.states, uuid);
  }
  migrationFile(uuid: string): string {
    return join(this.migrations, `${uuid}.json`);
  }
}

interface HypervisorDeps {
  readonly files: Files;
  readonly timers: Timers;
  readonly random: Random;
}

/**
 * Reads the hypervisor's identity, or creates it with `hostname` if no agent has used it yet. @throws
 * {InvalidConfiguration}
 */
async function openHypervisor(
  folder: HypervisorFolder,
  hostname: string,
  { files, timers, random }: HypervisorDeps,
): Promise<HypervisorIdentity> {
  // Usually the identity exists. Trying to create it first would write a file in vain.
  const known = await files.readIfPresent(folder.identityFile);
  if (known) {
    return parseIdentity(known, folder.identityFile);
  }
  const identity = { hostname, uuid: random.uuid() };
  const text = `${JSON.stringify(identity, null, 2)}\n`;
  try {
    await files.create(folder.identityFile, text);
    return identity;
  } catch (error) {
    if (!(error instanceof FileFailure && error.code === "EEXIST")) {
      throw error;
    }
  }
  // Another agent may have created the file without having written it yet.
  for (let tries = 0; tries < 20; tries += 1) {
    const stored = await files.readIfPresent(folder.identityFile);
    if (stored) {
      return parseIdentity(stored, folder.identityFile);
    }
    await timers.sleep(50);
  }
  // Its writer was killed before it had written everything.
  await files.write(folder.identityFile, text);
  return identity;
}

/** Returns the stored identity, or undefined if it is absent or unreadable. */
export async function readIdentity(folder: HypervisorFolder, files: Files): Promise<HypervisorIdentity | undefined> {
  try {
    const stored = await files.readIfPresent(folder.identityFile);
    return stored ? parseIdentity(stored, folder.identityFile) : undefined;
  } catch {
    return undefined;
  }
}

function parseIdentity(text: string, path: string): HypervisorIdentity {
  let stored: unknown;
  try {
    stored = JSON.parse(text);
  } catch {
    // Reported by the error below.
  }
  if (typeof stored === "object" && stored !== null && "hostname" in stored && "uuid" in stored) {
    const { hostname, uuid } = stored;
    if (typeof hostname === "string" && hostname !== "" && typeof uuid === "string") {
      return { hostname, uuid };
    }
  }
  throw new InvalidConfiguration(
    `${path}: expected JSON with hostname and uuid of the hypervisor, found ${text.slice(0, 60)}; fix it, or remove ` +
      "the file so that the hypervisor gets a new name",
  );
}

/**
 * A file that changed less than so many milliseconds before its stamp was taken may change again with the same time
 * stamp.
 */
export const TIME_STAMP_STEP = 2_000;

/** Detects, without reading it, whether a file or folder is unchanged since the previous call. */
export class Stamp {
  #modified = Number.NaN;
  #bytes = 0;
  #lookedAt = 0;

  /** Returns false if the path may have changed or is absent. Its content must be read after this call. */
  async isUnchanged(
    path: string,
    { files, clock }: { readonly files: Files; readonly clock: Clock },
  ): Promise<boolean> {
    const now = clock.now();
    const { modified = Number.NaN, bytes = 0 } = (await files.stat(path)) ?? {};
    const isUnchanged =
      modified === this.#modified && bytes === this.#bytes && this.#lookedAt - modified > TIME_STAMP_STEP;
    this.#modified = modified;
    this.#bytes = bytes;
    this.#lookedAt = now;
    return isUnchanged;
  }
}

const SCHEME = "fake-libvirt://";

/** Returns the connection URI of a folder, whatever characters its path has. @param folder absolute */
export const connectionTo = (folder: string): string => `${SCHEME}${encodeURI(folder)}`;

/** Returns the folder of `fake-libvirt:///absolute/folder`, with `%41` decoded to A. @throws {InvalidConfiguration} */
export function folderOfConnection(uri: string | null): string {
  const wrong = (why: string): never => {
    throw new InvalidConfiguration(
      `[fake_libvirt] connection_uri: found ${uri ?? "nothing"}, ${why}; expected ${SCHEME}/absolute/folder`,
    );
  };
  if (uri === null) {
    return wrong("and there is no default");
  }
  if (!uri.startsWith(SCHEME)) {
    return wrong(`which does not begin with ${SCHEME}`);
  }
  const rest = uri.slice(SCHEME.length);
  let path: string;
  try {
    path = decodeURIComponent(rest);
  } catch {
    // A plain path that contains a %.
    path = rest;
  }
  if (!isAbsolute(path)) {
    return wrong("whose folder is not absolute");
  }
  const folder = normalize(path).replace(/\/+$/, "");
  return folder === "" ? wrong("which is the root folder") : folder;
}

/** The single node of a hypervisor. The hypervisor keeps the node's name from its first use. */
export class OwnNode {
  readonly #folder: HypervisorFolder;
  readonly #config: FakeLibvirtConfig;
  readonly #context: DriverContext;
  /** Read once; undefined until the driver is connected. */
  #name: string | undefined;
  #warnedOf: string | undefined;
  /** Detects changes of the identity file, which each pass checks and hardly anything changes. */
  readonly #stamp = new Stamp();

  constructor(folder: HypervisorFolder, config: FakeLibvirtConfig, context: DriverContext) {
    this.#folder = folder;
    this.#config = config;
    this.#context = context;
  }

  /** Opens the hypervisor, and creates it if it is absent. */
  async find(): Promise<string> {
    const { host, logger } = this.#context;
    const { hypervisorHostname } = this.#config;
    const requestedName = hypervisorHostname ?? host;
    const { hostname } = await openHypervisor(this.#folder, requestedName, this.#context);
    if (hypervisorHostname !== null && hostname !== requestedName) {
      logger.warn(
        `[fake_libvirt] hypervisor_hostname is ${requestedName}, but the hypervisor is ${hostname} since it was first used; ` +
          `the option is ignored. To rename it, edit ${this.#folder.identityFile} while no agent runs`,
      );
    }
    return hostname;
  }

  connected(name: string): void {
    this.#name = name;
  }

  /** @throws {VirtDriverNotReady} */
  name(): string {
    if (this.#name === undefined) {
      throw new VirtDriverNotReady("fake-libvirt is not connected yet: call initHost first");
    }
    return this.#name;
  }

  /** @throws {InvalidConfiguration} the hypervisor has no such node. {@link VirtDriverNotReady} */
  known(node: string): string {
    const name = this.name();
    if (node === name) {
      return name;
    }
    throw new InvalidConfiguration(`fake-libvirt has one node, ${name}; found ${node}`);
  }

  async warnOfRename(): Promise<void> {
    if (await this.#stamp.isUnchanged(this.#folder.identityFile, this.#context)) {
      return;
    }
    const stored = (await readIdentity(this.#folder, this.#context.files))?.hostname;
    if (stored === this.#name || stored === this.#warnedOf) {
      return;
    }
    this.#warnedOf = stored;
    this.#context.logger.warn(
      `${this.#folder.identityFile} names the hypervisor ${stored ?? "(unnamed)"} now, but it was ${this.#name} when ` +
        "this agent started; the agent uses the old name until it is restarted",
    );
  }
}
