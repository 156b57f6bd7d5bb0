export function driverSource(name: string, className: string): string {
  return `import {
  type AvailableResource,
  type Capabilities,
  compileDriverConfig,
  type DriverConfig,
  type DriverContext,
  type GuestInfo,
  type Instance,
  InvalidConfiguration,
  nodeInventory,
  POWER_STATES,
  type PowerState,
  type ProviderTree,
  type SpawnOptions,
  type VirtDriver,
} from "compute-agent";
import { type Guest, Guests } from "./guests.js";
import { configSchema } from "./index.js";

/** A host with one node, named after the host. Methods that are not implemented have the contract's defaults. */
export class ${className} implements VirtDriver {
  readonly capabilities: Capabilities = {
    supportsEvacuate: true,
    supportsImageTypeQcow2: true,
    supportsImageTypeRaw: true,
  };
  readonly #context: DriverContext;
  readonly #config: DriverConfig<typeof configSchema>;
  readonly #guests: Guests;

  constructor(context: DriverContext) {
    this.#context = context;
    this.#config = compileDriverConfig(configSchema, context.config);
    this.#guests = new Guests(context);
  }

  /** Connects to the hypervisor. An error aborts the start of the agent. */
  async initHost(): Promise<void> {}

  /** Disconnects from the hypervisor. Guests keep running. */
  async cleanupHost(): Promise<void> {}

  async getAvailableNodes(): Promise<readonly string[]> {
    return [this.#context.host];
  }

  getHostIpAddr(): string {
    return this.#context.myIp;
  }

  async getAvailableResource(node: string): Promise<AvailableResource> {
    this.#assertNode(node);
    const { vcpus, memoryMb, diskGb } = this.#config;
    const guests = await this.#guests.all();
    const used = (of: (guest: Guest) => number) => guests.reduce((sum, guest) => sum + of(guest), 0);
    return {
      vcpus,
      memoryMb,
      localGb: diskGb,
      vcpusUsed: used((guest) => guest.vcpus),
      memoryMbUsed: used((guest) => guest.memoryMb),
      localGbUsed: used((guest) => guest.diskGb),
      cpuInfo: null,
      numaTopology: null,
      hypervisorType: "${name}",
      hypervisorVersion: 1000,
      hypervisorHostname: node,
      supportedInstances: [["x86_64", "${name}", "hvm"]],
      diskAvailableLeast: null,
    };
  }

  /** Sets the node's inventory for Placement. Edits the tree in place; repeated calls change nothing. */
  async updateProviderTree(tree: ProviderTree, node: string): Promise<void> {
    this.#assertNode(node);
    const inventory = nodeInventory(this.#context.inventory, tree.data(node).inventory, this.#config);
    tree.updateInventory(node, inventory);
  }

  async listInstanceUuids(): Promise<readonly string[]> {
    return this.#guests.uuids();
  }

  async getInfo({ uuid }: Instance): Promise<GuestInfo> {
    return { state: (await this.#guests.get(uuid)).state };
  }

  async spawn(instance: Instance, { powerOn }: SpawnOptions): Promise<void> {
    await this.#guests.put(guestOf(instance, powerOn ? POWER_STATES.running : POWER_STATES.shutdown));
  }

  /** Succeeds if the guest does not exist. */
  async destroy({ uuid }: Instance): Promise<void> {
    await this.#guests.remove(uuid);
  }

  powerOn(instance: Instance): Promise<void> {
    return this.#setState(instance, POWER_STATES.running);
  }

  powerOff(instance: Instance): Promise<void> {
    return this.#setState(instance, POWER_STATES.shutdown);
  }

  /** A HARD reboot recreates a missing guest. */
  async reboot(instance: Instance, type: "SOFT" | "HARD"): Promise<void> {
    if (type === "HARD") await this.#guests.put(guestOf(instance, POWER_STATES.running));
    else await this.#setState(instance, POWER_STATES.running);
  }

  pause(instance: Instance): Promise<void> {
    return this.#setState(instance, POWER_STATES.paused);
  }

  unpause(instance: Instance): Promise<void> {
    return this.#setState(instance, POWER_STATES.running);
  }

  async #setState({ uuid }: Instance, state: PowerState): Promise<void> {
    await this.#guests.put({ ...(await this.#guests.get(uuid)), state });
  }

  #assertNode(node: string): void {
    const { host } = this.#context;
    if (node !== host) throw new InvalidConfiguration(\`this driver has one node, \${host}; found \${node}\`);
  }
}

const guestOf = ({ uuid, displayName, vcpus, memoryMb, rootGb }: Instance, state: PowerState): Guest => ({
  uuid,
  name: displayName,
  state,
  vcpus,
  memoryMb,
  diskGb: rootGb,
});
`;
}

/** Returns the source of the substitute for a hypervisor, with one JSON file per guest. */
export function guestsSource(): string {
  return `import { type DriverContext, GuestNotFound, type PowerState } from "compute-agent";

/** A guest, as stored in its file. */
export interface Guest {
  readonly uuid: string;
  readonly name: string;
  readonly state: PowerState;
  readonly vcpus: number;
  readonly memoryMb: number;
  readonly diskGb: number;
}

/** A substitute for a hypervisor, with one file per guest: guests outlive the agent. Replace it with yours. */
export class Guests {
  readonly #files: DriverContext["files"];
  readonly #folder: string;

  constructor({ files, stateFolder }: DriverContext) {
    this.#files = files;
    this.#folder = \`\${stateFolder}/guests\`;
  }

  async uuids(): Promise<readonly string[]> {
    return (await this.#files.list(this.#folder))
      .filter((name) => name.endsWith(".json"))
      .map((name) => name.slice(0, -".json".length));
  }

  async all(): Promise<readonly Guest[]> {
    const guests = await Promise.all((await this.uuids()).map((uuid) => this.find(uuid)));
    return guests.filter((guest) => guest !== undefined);
  }

  async find(uuid: string): Promise<Guest | undefined> {
    const text = await this.#files.readIfPresent(this.#file(uuid));
    return text === undefined ? undefined : (JSON.parse(text) as Guest);
  }

  /** @throws {GuestNotFound} */
  async get(uuid: string): Promise<Guest> {
    const guest = await this.find(uuid);
    if (guest === undefined) throw new GuestNotFound(\`there is no guest \${uuid} in \${this.#folder}\`);
    return guest;
  }

  /** Writes atomically: a kill leaves a complete guest or none. */
  async put(guest: Guest): Promise<void> {
    await this.#files.write(this.#file(guest.uuid), JSON.stringify(guest));
  }

  async remove(uuid: string): Promise<void> {
    await this.#files.remove(this.#file(uuid));
  }

  #file(uuid: string): string {
    return \`\${this.#folder}/\${uuid}.json\`;
  }
}
`;
}
