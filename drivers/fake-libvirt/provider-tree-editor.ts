import {
  type InventoryOptions,
  type InventoryRecord,
  nodeInventory,
  type ProviderTree,
  type Random,
  type ReshapeAllocations,
  ReshapeFailed,
  ReshapeNeeded,
} from "../../src/virt/index.js";
import type { FakeLibvirtConfig } from "./config.js";
import type { AssignedDevice } from "./domain.js";
import type { DomainStore } from "./domain-store.js";
import { type CpuModel, cpuTraits, OWNED_CPU_TRAITS } from "./host-cpu.js";
import { devicePrefix, deviceProviderName, type HostDevice } from "./host-devices.js";

export interface TreeEditorParts {
  readonly config: FakeLibvirtConfig;
  readonly inventory: InventoryOptions;
  readonly cpu: CpuModel;
  readonly devices: readonly HostDevice[];
  /** Number of host CPUs for pinned guests. */
  readonly dedicatedCpus: number;
  readonly random: Random;
  /** Returns the domains, which record the devices of guests. */
  readonly store: Pick<DomainStore, "get">;
}

/** Implements spec 8.7 for one node. */
export class ProviderTreeEditor {
  readonly #parts: TreeEditorParts;

  constructor(parts: TreeEditorParts) {
    this.#parts = parts;
  }

  /** Returns whether devices are child providers: by configuration, or because a former configuration made them so. */
  isNested(tree: ProviderTree, node: string): boolean {
    return this.#parts.config.nestedDevices || ownChildren(tree, node).length > 0;
  }

  /** @throws {ReshapeNeeded} before anything is edited. {@link ReshapeFailed} */
  async update(tree: ProviderTree, node: string, allocations: ReshapeAllocations | undefined): Promise<void> {
    const nested = this.isNested(tree, node);
    const flat = nested ? this.#flatClasses(tree, node) : [];
    if (flat.length > 0 && !allocations) {
      throw new ReshapeNeeded(`${flat.join(", ")} must move from provider ${node} to its devices' own providers`);
    }
    if (nested) {
      this.#updateChildren(tree, node);
    }
    if (allocations && flat.length > 0) {
      await this.#moveAllocations(tree, node, allocations, new Set(flat));
    }
    tree.updateInventory(node, this.#rootInventory(tree, node, nested));
    const traits = cpuTraits(this.#parts.cpu);
    tree.removeTraits(node, ...OWNED_CPU_TRAITS.filter((trait) => !traits.includes(trait)));
    tree.addTraits(node, ...traits);
  }

  #rootInventory(tree: ProviderTree, node: string, nested: boolean): Readonly<Record<string, InventoryRecord>> {
    const { config, inventory, dedicatedCpus, devices } = this.#parts;
    const shared = config.sharedInstances && hasSharedDisk(tree, node);
    const pinned = dedicatedCpus === 0 ? {} : { PCPU: toInventory(dedicatedCpus) };
    const flat: Record<string, InventoryRecord> = {};
    for (const { resourceClass, parts } of nested ? [] : devices) {
      flat[resourceClass] = toInventory((flat[resourceClass]?.total ?? 0) + parts);
    }
    return {
      ...nodeInventory(inventory, tree.data(node).inventory, {
        vcpus: config.vcpus - dedicatedCpus,
        memoryMb: config.memoryMb,
        diskGb: shared ? 0 : config.diskGb,
      }),
      ...pinned,
      ...flat,
    };
  }

  #updateChildren(tree: ProviderTree, node: string): void {
    const desiredChildren = new Map(this.#parts.devices.map((device) => [deviceProviderName(node, device), device]));
    for (const name of ownChildren(tree, node)) {
      if (!desiredChildren.has(name)) {
        tree.remove(name);
      }
    }
    for (const [name, { resourceClass, parts }] of desiredChildren) {
      if (!tree.exists(name)) {
        tree.newChild(name, node, this.#parts.random.uuid());
      }
      tree.updateInventory(name, { [resourceClass]: toInventory(parts) });
      tree.addTraits(name, "OWNER_NOVA");
    }
  }

  /** Returns the device classes that the node's own inventory still contains. */
  #flatClasses(tree: ProviderTree, node: string): readonly string[] {
    const classes = new Set(this.#parts.devices.map(({ resourceClass }) => resourceClass));
    return Object.keys(tree.data(node).inventory).filter((name) => classes.has(name));
  }

  async #moveAllocations(
    tree: ProviderTree,
    node: string,
    allocations: ReshapeAllocations,
    classes: ReadonlySet<string>,
  ): Promise<void> {
    const root = tree.data(node).uuid;
    const movers: Mover[] = [];
    for (const [consumer, held] of allocations) {
      const requestedAmounts = Object.entries(held.get(root) ?? {}).filter(([name]) => classes.has(name));
      if (requestedAmounts.length > 0) {
        const assigned = (await this.#parts.store.get(consumer))?.devices ?? [];
        movers.push({ consumer, held, requestedAmounts, assigned });
      }
    }
    const free = new Map(this.#parts.devices.map((device) => [device.address, device.parts]));
    // Guests with devices keep them. Guests that only have the amounts allocated then get the remaining devices.
    movers.sort((left, right) => right.assigned.length - left.assigned.length);
    for (const mover of movers) {
      this.#moveOne(tree, node, root, mover, free);
    }
  }

  #moveOne(tree: ProviderTree, node: string, root: string, mover: Mover, free: Map<string, number>): void {
    const { consumer, held, requestedAmounts, assigned } = mover;
    const remaining = { ...held.get(root) };
    for (const [resourceClass, amount] of requestedAmounts) {
      const devices = this.#parts.devices.filter((device) => device.resourceClass === resourceClass);
      let left = amount;
      const take = (device: HostDevice, most: number) => {
        const room = free.get(device.address) ?? 0;
        const taken = Math.min(left, room, most);
        if (taken === 0) {
          return;
        }
        const child = tree.data(deviceProviderName(node, device)).uuid;
        const before = held.get(child) ?? {};
        held.set(child, { ...before, [resourceClass]: (before[resourceClass] ?? 0) + taken });
        free.set(device.address, room - taken);
        left -= taken;
      };
      for (const device of devices) {
        take(device, uses(assigned, device));
      }
      for (const device of devices) {
        take(device, left);
      }
      if (left > 0) {
        throw new ReshapeFailed(
          `consumer ${consumer} has ${amount} ${resourceClass} allocated on ${node}, but the configured devices have ` +
            `capacity for only ${amount - left}; configure the devices that it used`,
        );
      }
      delete remaining[resourceClass];
    }
    if (Object.keys(remaining).length > 0) {
      held.set(root, remaining);
    } else {
      held.delete(root);
    }
  }
}

interface Mover {
  readonly consumer: string;
  readonly held: Map<string, Record<string, number>>;
  readonly requestedAmounts: readonly (readonly [resourceClass: string, amount: number])[];
  readonly assigned: readonly AssignedDevice[];
}

function uses(assigned: readonly AssignedDevice[], { address }: HostDevice): number {
  return assigned.filter((part) => part.address === address).length;
}

function toInventory(total: number): InventoryRecord {
  return {
    total,
    reserved: 0,
    minUnit: 1,
    maxUnit: total,
    stepSize: 1,
    allocationRatio: 1,
  };
}

/** Returns the names of the node's child providers that this driver created. */
function ownChildren(tree: ProviderTree, node: string): readonly string[] {
  const { uuid } = tree.data(node);
  return tree
    .providerUuids(uuid)
    .map((child) => tree.data(child))
    .filter(({ parentUuid, name }) => parentUuid === uuid && name.startsWith(devicePrefix(node)))
    .map(({ name }) => name);
}

/** Returns whether another root in one of the node's aggregates shares its DISK_GB. */
function hasSharedDisk(tree: ProviderTree, node: string): boolean {
  const { uuid, aggregates } = tree.data(node);
  return tree.roots
    .filter((root) => root !== uuid)
    .map((root) => tree.data(root))
    .some(
      (other) =>
        other.traits.has("MISC_SHARES_VIA_AGGREGATE") &&
        "DISK_GB" in other.inventory &&
        [...other.aggregates].some((aggregate) => aggregates.has(aggregate)),
    );
}
