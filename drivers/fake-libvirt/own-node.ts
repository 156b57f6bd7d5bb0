import { type DriverContext, InvalidConfiguration, VirtDriverNotReady } from "../../src/virt/index.js";
import type { FakeLibvirtConfig } from "./config.js";
import { type HypervisorFolder, openHypervisor, readIdentity } from "./hypervisor.js";
import { Stamp } from "./stamp.js";

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
