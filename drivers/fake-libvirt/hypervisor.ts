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

/** What is stored of the hypervisor itself, once, by the first agent that uses it. */
export interface HypervisorIdentity {
  /** The name that all agents report which are pointed at it. */
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

/** What {@link openHypervisor} needs. */
interface HypervisorDeps {
  readonly files: Files;
  readonly timers: Timers;
  readonly random: Random;
}

/**
 * Reads the hypervisor's identity; names it `hostname` when no agent has used it yet. @throws {InvalidConfiguration}
 */
async function openHypervisor(
  folder: HypervisorFolder,
  hostname: string,
  { files, timers, random }: HypervisorDeps,
): Promise<HypervisorIdentity> {
  // Most are there; to try to make one costs a file that is written for nothing.
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
  // Another agent may have made the file and not written it yet.
  for (let tries = 0; tries < 20; tries += 1) {
    const stored = await files.readIfPresent(folder.identityFile);
    if (stored) {
      return parseIdentity(stored, folder.identityFile);
    }
    await timers.sleep(50);
  }
  // Its writer was killed before it had written all of it.
  await files.write(folder.identityFile, text);
  return identity;
}

/** The identity as it is stored now; undefined when it is gone or unreadable. */
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
    // The error below says so.
  }
  if (typeof stored === "object" && stored !== null && "hostname" in stored && "uuid" in stored) {
    const { hostname, uuid } = stored;
    if (typeof hostname === "string" && hostname !== "" && typeof uuid === "string") {
      return { hostname, uuid };
    }
  }
  throw new InvalidConfiguration(
    `${path}: expected JSON with hostname and uuid of the hypervisor, found ${text.slice(0, 60)}; mend it, or remove ` +
      "the file to have the hypervisor named anew",
  );
}

/** What changed so shortly (in ms) before it was looked at may change again without a new time stamp. */
export const TIME_STAMP_STEP = 2_000;

/** Tells, without reading it, whether a file or folder is as it was when it was last asked about. */
export class Stamp {
  #modified = Number.NaN;
  #bytes = 0;
  #lookedAt = 0;

  /** False: it may have changed, or is not there. What is read of it has to be read after this. */
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

/** The connection of a folder, whatever characters its path has. @param folder absolute */
export const connectionTo = (folder: string): string => `${SCHEME}${encodeURI(folder)}`;

/** The folder of `fake-libvirt:///absolute/folder`, in which `%41` is an A. @throws {InvalidConfiguration} */
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
    // A plain path with a % in it.
    path = rest;
  }
  if (!isAbsolute(path)) {
    return wrong("whose folder is not absolute");
  }
  const folder = normalize(path).replace(/\/+$/, "");
  return folder === "" ? wrong("which is the root folder") : folder;
}

/** The one node of a hypervisor, whose name the hypervisor keeps from the first time that it is used. */
export class OwnNode {
  readonly #folder: HypervisorFolder;
  readonly #config: FakeLibvirtConfig;
  readonly #context: DriverContext;
  /** Read once; undefined until the driver is connected. */
  #name: string | undefined;
  #warnedOf: string | undefined;
  /** Tells whether the file with the identity has changed: each pass looks, and hardly anybody changes it. */
  readonly #stamp = new Stamp();

  constructor(folder: HypervisorFolder, config: FakeLibvirtConfig, context: DriverContext) {
    this.#folder = folder;
    this.#config = config;
    this.#context = context;
  }

  /** Opens the hypervisor, which is made if it is not there. */
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
      throw new VirtDriverNotReady("fake-libvirt is not connected yet: initHost comes first");
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
      `${this.#folder.identityFile} says that the hypervisor is ${stored ?? "nobody"} now, but it was ${this.#name} when ` +
        "this agent started; the agent keeps to the old name until it is restarted",
    );
  }
}
