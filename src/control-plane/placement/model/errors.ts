/** Why a change or a search is impossible, worded as Placement's own exceptions. */
export class PlacementError extends Error {
  override readonly name: string = "PlacementError";
}

export class NotFound extends PlacementError {
  override readonly name: string = "NotFound";
}

export class ResourceClassNotFound extends NotFound {
  override readonly name = "ResourceClassNotFound";

  constructor(resourceClass: string) {
    super(`No such resource class ${resourceClass}.`);
  }
}

export class TraitNotFound extends NotFound {
  override readonly name = "TraitNotFound";

  constructor(trait: string) {
    super(`No such trait(s): ${trait}.`);
  }
}

export class InventoryWithResourceClassNotFound extends NotFound {
  override readonly name = "InventoryWithResourceClassNotFound";

  constructor(resourceClass: string) {
    super(`No inventory of class ${resourceClass} found.`);
  }
}

export class InvalidInventory extends PlacementError {
  override readonly name: string = "InvalidInventory";

  constructor(resourceClass: string, provider: string, message?: string) {
    super(message ?? `Inventory for '${resourceClass}' on resource provider '${provider}' invalid.`);
  }
}

export class InvalidAllocationCapacityExceeded extends InvalidInventory {
  override readonly name = "InvalidAllocationCapacityExceeded";

  constructor(resourceClass: string, provider: string) {
    const what = `Unable to create allocation for '${resourceClass}' on resource provider '${provider}'.`;
    super(resourceClass, provider, `${what} The requested amount would exceed the capacity.`);
  }
}

export class InvalidAllocationConstraintsViolated extends InvalidInventory {
  override readonly name = "InvalidAllocationConstraintsViolated";

  constructor(resourceClass: string, provider: string) {
    const what = `Unable to create allocation for '${resourceClass}' on resource provider '${provider}'.`;
    super(resourceClass, provider, `${what} The requested amount would violate inventory constraints.`);
  }
}

export class InvalidInventoryCapacity extends InvalidInventory {
  override readonly name = "InvalidInventoryCapacity";

  /** `reservedCanBeTotal`: from microversion 1.26 on. */
  constructor(resourceClass: string, provider: string, reservedCanBeTotal: boolean) {
    const what = `Invalid inventory for '${resourceClass}' on resource provider '${provider}'.`;
    const relation = reservedCanBeTotal ? "greater than" : "greater than or equal to";
    super(resourceClass, provider, `${what} The reserved value is ${relation} total.`);
  }
}

export class InventoryInUse extends InvalidInventory {
  override readonly name = "InventoryInUse";

  constructor(resourceClasses: string, provider: string) {
    const message = `Inventory for '${resourceClasses}' on resource provider '${provider}' in use.`;
    super(resourceClasses, provider, message);
  }
}

export class ObjectActionError extends PlacementError {
  override readonly name = "ObjectActionError";

  constructor(action: string, reason: string) {
    super(`Object action ${action} failed because: ${reason}`);
  }
}
