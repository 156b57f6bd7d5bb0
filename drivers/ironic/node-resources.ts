import {
  type AvailableResource,
  type InventoryRecord,
  type Logger,
  type ProviderTree,
  VirtError,
} from "../../src/virt/index.js";
import { type IronicNode, isBad, isUsed } from "./client/ironic-node.js";

/** The node has no resource class, so that nothing can be scheduled to it. */
class NoResourceClass extends VirtError {
  override readonly name = "NoResourceClass";

  constructor(node: string) {
    super(
      `Resource class not found for Ironic node ${node}: set one with openstack baremetal node set --resource-class`,
    );
  }
}

/**
 * Normalizes the name of a resource class by Nova's rule: `Gold.metal v2` → `CUSTOM_GOLD_METAL_V2`.
 * @internal for tests
 */
export const resourceClassOf = (name: string): string => `CUSTOM_${name.replace(/[^0-9A-Za-z]+/g, "_").toUpperCase()}`;

/** Returns one unit of the node's class, reserved while nothing may be built on the node. @throws {NoResourceClass} */
function inventoryOf(
  node: IronicNode,
  options: { readonly skipReserveInUse: boolean },
): Readonly<Record<string, InventoryRecord>> {
  if (node.resourceClass === null || node.resourceClass === "") {
    throw new NoResourceClass(node.uuid);
  }
  const reserved = isUsed(node) ? !options.skipReserveInUse : isBad(node);
  return {
    [resourceClassOf(node.resourceClass)]: {
      total: 1,
      reserved: reserved ? 1 : 0,
      minUnit: 1,
      maxUnit: 1,
      stepSize: 1,
      allocationRatio: 1,
    },
  };
}

/**
 * Sets the inventory and the traits of a node's provider, replacing traits that others have set. The class of a node
 * with an instance stays until the node is free: Placement does not remove a class that is in use.
 */
export function fillProvider(
  tree: ProviderTree,
  node: IronicNode,
  { skipReserveInUse, logger }: { readonly skipReserveInUse: boolean; readonly logger: Logger },
): void {
  const desiredInventory = inventoryOf(node, { skipReserveInUse });
  const { inventory } = tree.data(node.uuid);
  const [desiredClass = ""] = Object.keys(desiredInventory);
  const [oldClass] = Object.keys(inventory).filter((name) => name.startsWith("CUSTOM_") && name !== desiredClass);
  const old = oldClass === undefined ? undefined : inventory[oldClass];
  if (isUsed(node) && oldClass !== undefined && old && !(desiredClass in inventory)) {
    logger.warn(
      "the node's resource class was changed while it has an instance; keeping the old class until the node is free",
      {
        node: node.uuid,
        instance: node.instanceUuid,
        from: oldClass,
        to: desiredClass,
      },
    );
  } else {
    tree.updateInventory(node.uuid, desiredInventory);
  }
  tree.updateTraits(node.uuid, node.traits);
}

/** Nova's canonical names of architectures. */
const ARCHITECTURES: ReadonlySet<string> = new Set(
  (
    "aarch64 alpha armv6 armv7l armv7b cris i686 ia64 lm32 loongarch64 m68k microblaze microblazeel mips mipsel " +
    "mips64 mips64el openrisc parisc parisc64 ppc ppcle ppc64 ppc64le ppcemb riscv32 riscv64 s390 s390x sh4 sh4eb " +
    "sparc sparc64 unicore32 x86_64 xtensa xtensaeb"
  ).split(" "),
);

/** Returns null for an architecture that Nova does not know. */
function architectureOf(raw: string | null): string | null {
  const name = raw?.toLowerCase() ?? "";
  if (/^i[3-6]86$/.test(name)) {
    return "i686";
  }
  if (name === "amd64") {
    return "x86_64";
  }
  return ARCHITECTURES.has(name) ? name : null;
}

/** Returns `cpu_arch` and the entries of `capabilities`, with which filters compare extra specs. */
function statsOf(node: IronicNode, logger: Logger): Readonly<Record<string, string>> {
  const { cpuArch, capabilities } = node.properties;
  const stats: Record<string, string> = cpuArch === null ? {} : { cpu_arch: cpuArch };
  for (const part of (capabilities ?? "").split(",").filter((text) => text.trim() !== "")) {
    const [, key, value] = /^([^:]+):([^:]+)$/.exec(part.trim()) ?? [];
    if (key === undefined || value === undefined) {
      logger.warn("Ignoring malformed capability; expected key:value", { node: node.uuid, capability: part });
      continue;
    }
    stats[key] = value;
  }
  return stats;
}

/** Reports sizes of zero: a node is scheduled by its resource class alone. */
export function resourceOf(node: IronicNode, logger: Logger): AvailableResource {
  const arch = architectureOf(node.properties.cpuArch);
  if (arch === null && node.properties.cpuArch !== null) {
    logger.warn("the node's cpu_arch is unknown to Nova", { node: node.uuid, cpu_arch: node.properties.cpuArch });
  }
  return {
    uuid: node.uuid,
    hypervisorHostname: node.uuid,
    hypervisorType: "ironic",
    hypervisorVersion: 1,
    vcpus: 0,
    memoryMb: 0,
    localGb: 0,
    vcpusUsed: 0,
    memoryMbUsed: 0,
    localGbUsed: 0,
    diskAvailableLeast: 0,
    cpuInfo: null,
    numaTopology: null,
    supportedInstances: arch === null ? [] : [[arch, "baremetal", "hvm"]],
    stats: statsOf(node, logger),
  };
}
