import type { Clock, Files, Logger } from "../../src/virt/index.js";
import { DOMAIN_STATES, type Domain, type DomainState, UUID } from "./domain.js";
import { BrokenDomainXml, domainFromXml, domainToXml } from "./domain-xml.js";
import { type HypervisorFolder, TIME_STAMP_STEP } from "./hypervisor.js";

/** States that a guest loses with the machine's power, whatever its state file contains. */
const IN_MEMORY: readonly DomainState[] = ["running", "paused", "crashed"];

interface Parsed {
  readonly modified: number;
  readonly bytes: number;
  readonly readAt: number;
  readonly text: string;
  /** Undefined if the XML is broken. */
  readonly domain: Domain | undefined;
}

export interface DomainStoreDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The domains of a hypervisor. The files are the only source of truth, since several agents and `virsh` may change
 * them. Only the results of parsing unchanged files are cached.
 *
 * A domain is defined by its XML. Its state is a separate file; a domain without one is shut off.
 */
export class DomainStore {
  readonly #folder: HypervisorFolder;
  readonly #deps: DomainStoreDeps;
  readonly #parsed = new Map<string, Parsed>();
  readonly #warned = new Set<string>();

  constructor(folder: HypervisorFolder, deps: DomainStoreDeps) {
    this.#folder = folder;
    this.#deps = deps;
  }

  /** Returns the uuids of all domains, including those with broken XML. */
  async uuids(): Promise<readonly string[]> {
    const names = await this.#deps.files.list(this.#folder.domains);
    const uuids: string[] = [];
    for (const name of names) {
      const uuid = name.endsWith(".xml") ? name.slice(0, -".xml".length) : "";
      if (UUID.test(uuid)) {
        uuids.push(uuid);
      } else {
        this.#warnOnce(`${this.#folder.domains}/${name} is not <uuid>.xml and is ignored`);
      }
    }
    return uuids;
  }

  async exists(uuid: string): Promise<boolean> {
    return (await this.#deps.files.stat(this.#folder.domainFile(uuid))) !== undefined;
  }

  /** Returns all readable domains, and logs a warning for each of the others. */
  async all(): Promise<readonly Domain[]> {
    const uuids = await this.uuids();
    const known = new Set(uuids);
    for (const uuid of this.#parsed.keys()) {
      if (!known.has(uuid)) {
        this.#parsed.delete(uuid);
      }
    }
    const domains = await Promise.all(uuids.map((uuid) => this.get(uuid)));
    return domains.filter((domain) => domain !== undefined);
  }

  /** Returns undefined if the domain is not defined or its XML is broken. */
  async get(uuid: string): Promise<Domain | undefined> {
    const { files, clock } = this.#deps;
    const path = this.#folder.domainFile(uuid);
    const stat = await files.stat(path);
    if (!stat) {
      return undefined;
    }
    const known = this.#parsed.get(uuid);
    const unchanged = known && known.modified === stat.modified && known.bytes === stat.bytes;
    if (unchanged && known.readAt - known.modified > TIME_STAMP_STEP) {
      return known.domain;
    }
    const readAt = clock.now();
    const text = await files.readIfPresent(path);
    if (text === undefined) {
      return undefined;
    }
    const domain = known?.text === text ? known.domain : this.#parse(uuid, text, path);
    this.#parsed.set(uuid, { modified: stat.modified, bytes: stat.bytes, readAt, text, domain });
    return domain;
  }

  /** Returns the XML as stored. */
  xml(uuid: string): Promise<string | undefined> {
    return this.#deps.files.readIfPresent(this.#folder.domainFile(uuid));
  }

  /** Returns undefined if the domain is not defined. */
  async state(uuid: string): Promise<DomainState | undefined> {
    return (await this.exists(uuid)) ? this.#state(uuid) : undefined;
  }

  /** Reads the states of all domains. */
  async states(): Promise<ReadonlyMap<string, DomainState>> {
    const uuids = await this.uuids();
    return new Map(await Promise.all(uuids.map(async (uuid) => [uuid, await this.#state(uuid)] as const)));
  }

  /** @param options `fleeting`: the caller writes the domain's XML next, and that write flushes this one to the disk */
  async setState(uuid: string, state: DomainState, { fleeting = IN_MEMORY.includes(state) } = {}): Promise<void> {
    await this.#deps.files.write(this.#folder.stateFile(uuid), `${state}\n`, { fleeting });
  }

  /**
   * Creates or redefines the domain. A new one has `state` from the beginning, because its state is written before its
   * XML. An existing one keeps its state if none is passed.
   */
  async define(domain: Domain, state?: DomainState): Promise<void> {
    const fresh = state !== undefined && !(await this.exists(domain.uuid));
    if (fresh) {
      await this.setState(domain.uuid, state);
    }
    await this.#deps.files.write(this.#folder.domainFile(domain.uuid), domainToXml(domain));
    if (state !== undefined && !fresh) {
      await this.setState(domain.uuid, state);
    }
  }

  /** Removes the domain, which may be absent. The XML goes first, since it defines the domain. */
  async undefine(uuid: string): Promise<void> {
    await this.#deps.files.remove(this.#folder.domainFile(uuid));
    await this.#deps.files.remove(this.#folder.stateFile(uuid));
  }

  /** Removes the state that a removed domain of this uuid may have left. */
  async clearState(uuid: string): Promise<void> {
    await this.#deps.files.remove(this.#folder.stateFile(uuid));
  }

  async #state(uuid: string): Promise<DomainState> {
    const path = this.#folder.stateFile(uuid);
    const text = (await this.#deps.files.readIfPresent(path))?.replaceAll("\0", "").trim() ?? "shutoff";
    const state = DOMAIN_STATES.find((known) => known === text);
    if (state) {
      return state;
    }
    if (DOMAIN_STATES.some((known) => known.startsWith(text))) {
      return "shutoff"; // The machine lost power, and the guest with it, before the state was on the disk.
    }
    this.#warnOnce(
      `${path}: expected one of ${DOMAIN_STATES.join(", ")}, found ${text.slice(0, 40) || "nothing"}; the domain ` +
        "counts as crashed until it is started or stopped",
    );
    return "crashed";
  }

  #parse(uuid: string, text: string, path: string): Domain | undefined {
    try {
      return domainFromXml(text, uuid);
    } catch (error) {
      if (!(error instanceof BrokenDomainXml)) {
        throw error;
      }
      this.#warnOnce(`${path}: ${error.message}; the guest is left alone and its resources are not counted`, {
        instance: uuid,
      });
      return undefined;
    }
  }

  /** Broken files stay broken for many passes, so each is reported once. */
  #warnOnce(message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    if (this.#warned.has(message)) {
      return;
    }
    this.#warned.add(message);
    this.#deps.logger.warn(message, fields);
  }
}
