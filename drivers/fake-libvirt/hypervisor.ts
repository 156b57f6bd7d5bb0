import { join } from "node:path";
import { FileFailure, type Files, InvalidConfiguration, type Random, type Timers } from "../../src/virt/index.js";

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
export interface HypervisorDeps {
  readonly files: Files;
  readonly timers: Timers;
  readonly random: Random;
}

/**
 * Reads the hypervisor's identity; names it `hostname` when no agent has used it yet. @throws {InvalidConfiguration}
 */
export async function openHypervisor(
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
