import { IronicDriver } from "../../drivers/ironic/ironic-driver.js";
import type { QuirkName } from "../../src/config/quirks.js";
import { type DriverDefinition, defineDriver, type VirtDriver } from "../../src/virt/index.js";
import type { Judgement } from "../fixtures/invariants.js";
import { StubHypervisor } from "../fixtures/tracker-driver.js";
import { type TestAgent, TrackerWorld } from "../fixtures/tracker-world.js";
import { FakeIronic, type FakeNode } from "../unit/drivers/ironic/support/fake-ironic.js";

/** One Ironic for all hosts, as one host's driver uses it; checked by the same invariants as any other hypervisor. */
class IronicHypervisor extends StubHypervisor {
  readonly #ironic: FakeIronic;
  readonly #config: Readonly<Record<string, unknown>>;

  constructor(ironic: FakeIronic, config: Readonly<Record<string, unknown>>) {
    super();
    this.#ironic = ironic;
    this.#config = { endpoint_override: "http://ironic", ...config };
  }

  override get definition(): DriverDefinition {
    return defineDriver({
      name: "ironic",
      apiVersion: "1.0",
      create: (context) => this.#watched(new IronicDriver({ ...context, http: this.#ironic, config: this.#config })),
    });
  }

  /** Records the listed nodes as reported; its actions on guests are checked. */
  #watched(driver: VirtDriver): VirtDriver {
    const watched: Partial<VirtDriver> = {
      getAvailableNodes: async (options) => {
        const listed = await driver.getAvailableNodes(options);
        this.nodes.clear();
        for (const uuid of listed) {
          this.nodes.set(uuid, { vcpus: 0, memoryMb: 0, localGb: 0, uuid });
        }
        return listed;
      },
      spawn: async (instance, options) => {
        await this.note(`driver spawn ${instance.uuid}`);
        this.onGuestCall("spawn", instance.uuid);
        await driver.spawn(instance, options);
        this.guests.set(instance.uuid, 1);
      },
      destroy: async (instance, options) => {
        await this.note(`driver destroy ${instance.uuid}`);
        this.onGuestCall("destroy", instance.uuid, options.destroyDisks);
        await driver.destroy(instance, options);
        this.guests.delete(instance.uuid);
      },
    };
    return new Proxy(driver, {
      get(target, name) {
        const own = watched[name as keyof VirtDriver];
        if (own !== undefined) {
          return own;
        }
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }
}

/** Store, Placement, an Ironic and agents of the ironic driver. */
export class IronicWorld {
  readonly ironic = new FakeIronic();
  readonly world: TrackerWorld;

  private constructor(world: TrackerWorld) {
    this.world = world;
  }

  static async create(judgement: Judgement = {}): Promise<IronicWorld> {
    return new IronicWorld(await TrackerWorld.create(1, judgement));
  }

  /** Registers an agent and runs its first pass. */
  async agent(host: string, quirks: readonly QuirkName[] = [], config = {}): Promise<TestAgent> {
    return this.world.startedAgent(host, this.#hypervisor(config), options(quirks));
  }

  /** Registers an agent, without a pass. */
  async registered(host: string, quirks: readonly QuirkName[] = []): Promise<TestAgent> {
    return this.world.agent(host, this.#hypervisor({}), options(quirks));
  }

  #hypervisor(config: Readonly<Record<string, unknown>>): IronicHypervisor {
    return new IronicHypervisor(this.ironic, config);
  }

  nodes(count: number, changes: Partial<FakeNode> = {}): readonly FakeNode[] {
    return Array.from({ length: count }, () => this.ironic.add({ ...changes }));
  }

  /** Creates an instance that requests one unit of bare metal, not placed yet. */
  instance(changes: Parameters<TrackerWorld["instance"]>[0] = {}) {
    const extraSpecs = {
      "resources:CUSTOM_BAREMETAL": "1",
      "resources:VCPU": "0",
      "resources:MEMORY_MB": "0",
      "resources:DISK_GB": "0",
    };
    return this.world.instance({ flavor: this.world.flavor({ extraSpecs }), ...changes });
  }

  /** Claims the node in Placement as the scheduler does, and lets the agent build there. */
  async build(agent: TestAgent, uuid: string, node: FakeNode): Promise<void> {
    const instance = this.world.stored(uuid);
    await this.world.claim(instance, node.uuid);
    await this.world.build(agent, instance, {
      node: node.uuid,
      allocations: { [node.uuid]: { resources: { CUSTOM_BAREMETAL: 1 } } },
      retry: { numAttempts: 1, hosts: [[agent.host, node.uuid]] },
    });
  }

  pass(agent: TestAgent): Promise<void> {
    return agent.tracker.updateAvailableResource({ startup: false });
  }

  /** Returns the reserved units of the node's provider; undefined: there is no provider. */
  async reserved(node: FakeNode): Promise<number | undefined> {
    const path = `/resource_providers/${node.uuid}/inventories`;
    const { body, status } = this.world.placement.send("GET", path);
    if (status === 404) {
      return undefined;
    }
    const { inventories } = JSON.parse(String(body)) as { inventories: Record<string, { reserved: number }> };
    return inventories.CUSTOM_BAREMETAL?.reserved;
  }

  /** Returns the host in the node's row; null: there is no row. */
  hostOf(node: FakeNode): string | null {
    return this.world.store.computeNodes.getByUuid(node.uuid)?.host ?? null;
  }
}

const options = (quirks: readonly QuirkName[]) => ({ config: { workarounds: { upstreamQuirks: new Set(quirks) } } });
