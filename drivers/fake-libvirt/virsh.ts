import type { Clock, Files, Logger } from "../../src/virt/index.js";
import type { Domain, DomainState } from "./domain.js";
import { DomainStore } from "./domain-store.js";
import { folderOfConnection, HypervisorFolder } from "./hypervisor.js";

/** One line of `virsh list`. */
export interface VirshRow {
  /** Number of a domain that is not shut off; null is printed as `-`. */
  readonly id: number | null;
  readonly name: string;
  readonly uuid: string;
  /** The state as virsh prints it: `running`, `paused`, `shut off` … */
  readonly state: string;
}

/** The domain does not exist, or is not in the state that the command needs. The message is virsh's. */
export class VirshError extends Error {
  override readonly name = "VirshError";
}

export interface VirshDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Actions of a user on a hypervisor's guests behind the agent's back. Domains are identified by name, uuid or id. */
export class Virsh {
  readonly #connection: string;
  readonly #files: Files;
  readonly #folder: HypervisorFolder;
  readonly #store: DomainStore;

  /** @throws {InvalidConfiguration} */
  constructor(connection: string, deps: VirshDeps) {
    this.#connection = connection;
    this.#files = deps.files;
    this.#folder = new HypervisorFolder(folderOfConnection(connection));
    this.#store = new DomainStore(this.#folder, deps);
  }

  /**
   * Returns the domains that are not shut off, or with `all` every domain, sorted by name. @throws {VirshError} there
   * is no hypervisor.
   */
  async list(options: { readonly all?: boolean } = {}): Promise<readonly VirshRow[]> {
    if ((await this.#files.stat(this.#folder.path))?.kind !== "folder") {
      throw new VirshError(`${NOT_CONNECTED}: there is no hypervisor at ${this.#connection}`);
    }
    const rows: VirshRow[] = [];
    for (const [uuid, state] of await this.#store.states()) {
      if (!options.all && !isActive(state)) {
        continue;
      }
      const domain = await this.#store.get(uuid);
      rows.push({ id: idOf(domain, state), name: domain?.name ?? uuid, uuid, state: STATE_LABELS[state] });
    }
    return rows.sort((left, right) => (left.name < right.name ? -1 : left.name > right.name ? 1 : 0));
  }

  /** @throws {VirshError} the domain is running. */
  start(domain: string): Promise<string> {
    return this.#change(domain, "running", ["shutoff", "crashed", "suspended"], "Domain is already active");
  }

  /** Powers the domain off. @throws {VirshError} the domain is not running. */
  destroy(domain: string): Promise<string> {
    return this.#change(domain, "shutoff", ["running", "paused"], NOT_RUNNING);
  }

  /** Shuts the guest down cleanly. @throws {VirshError} */
  shutdown(domain: string): Promise<string> {
    return this.#change(domain, "shutoff", ["running"], NOT_RUNNING);
  }

  /** Pauses the domain. @throws {VirshError} */
  suspend(domain: string): Promise<string> {
    return this.#change(domain, "paused", ["running"], NOT_RUNNING);
  }

  /** Undoes {@link suspend}. @throws {VirshError} */
  resume(domain: string): Promise<string> {
    return this.#change(domain, "running", ["paused"], "domain is not paused");
  }

  /**
   * Removes a domain that is shut off, without its disks. @throws {VirshError} it is not shut off: there are no
   * transient domains.
   */
  async undefine(domain: string): Promise<string> {
    const uuid = await this.#find(domain);
    const state = (await this.#store.state(uuid)) ?? this.#missing(domain);
    if (isActive(state)) {
      throw new VirshError(
        `Failed to undefine domain '${domain}'\nerror: Requested operation is not valid: cannot undefine a domain that is ` +
          `${STATE_LABELS[state]} here; virsh destroy ${domain} first`,
      );
    }
    await this.#store.undefine(uuid);
    return uuid;
  }

  /** @throws {VirshError} */
  async dumpxml(domain: string): Promise<string> {
    const uuid = await this.#find(domain);
    return (await this.#store.xml(uuid)) ?? this.#missing(domain);
  }

  /** Returns the uuid of the changed domain. */
  async #change(
    domain: string,
    targetState: DomainState,
    from: readonly DomainState[],
    otherwise: string,
  ): Promise<string> {
    const uuid = await this.#find(domain);
    const state = (await this.#store.state(uuid)) ?? this.#missing(domain);
    if (!from.includes(state)) {
      throw new VirshError(`Requested operation is not valid: ${otherwise} (${STATE_LABELS[state]})`);
    }
    await this.#store.setState(uuid, targetState);
    return uuid;
  }

  async #find(domain: string): Promise<string> {
    const rows = await this.list({ all: true });
    const found = rows.find(({ id, name, uuid }) => name === domain || uuid === domain || String(id) === domain);
    return found?.uuid ?? this.#missing(domain);
  }

  #missing(domain: string): never {
    throw new VirshError(`failed to get domain '${domain}'; virsh list --all shows what there is`);
  }
}

/** The beginning of virsh's message if there is no hypervisor. */
export const NOT_CONNECTED = "failed to connect to the hypervisor";

const NOT_RUNNING = "domain is not running";

const STATE_LABELS: Readonly<Record<DomainState, string>> = {
  running: "running",
  paused: "paused",
  suspended: "saved",
  shutoff: "shut off",
  crashed: "crashed",
};

const isActive = (state: DomainState): boolean => state === "running" || state === "paused";

/** libvirt counts starts. Here the id is the number in Nova's name of the guest, so that it is stable. */
function idOf(domain: Domain | undefined, state: DomainState): number | null {
  const number = /^instance-([0-9a-f]{8,})$/.exec(domain?.name ?? "")?.[1];
  return number !== undefined && isActive(state) ? Number.parseInt(number, 16) : null;
}
