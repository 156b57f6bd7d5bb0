import { type InventoryRecord, type Logger, type ProviderTree, VirtError } from "../../src/virt/index.js";
import type { IronicNode } from "./client/ironic-node.js";
import { isBad, isUsed } from "./node-states.js";

/** The node cannot be scheduled to, as nothing could ask for it. */
class NoResourceClass extends VirtError {
  override readonly name = "NoResourceClass";

  constructor(node: string) {
    super(
      `Resource class not found for Ironic node ${node}: set one with openstack baremetal node set --resource-class`,
    );
  }
}

/**
 * Nova's rule for names of resource classes: `Gold.metal v2` → `CUSTOM_GOLD_METAL_V2`.
 * @internal for tests
 */
export const resourceClassOf = (name: string): string => `CUSTOM_${name.replace(/[^0-9A-Za-z]+/g, "_").toUpperCase()}`;

/** One unit of the node's class; reserved while nothing may be built on it. @throws {NoResourceClass} */
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
 * The provider of a node: its one inventory, and its traits, which replace all that others have put there. The class of a
 * node that an instance has stays until the node is free: Placement does not give up a class that is in use.
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
    logger.warn("resource class of the node was changed while an instance has it: the old one stays until it is free", {
      node: node.uuid,
      instance: node.instanceUuid,
      from: oldClass,
      to: desiredClass,
    });
  } else {
    tree.updateInventory(node.uuid, desiredInventory);
  }
  tree.updateTraits(node.uuid, node.traits);
}
