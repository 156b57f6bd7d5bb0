import { PublicError } from "../runtime/error-messages.js";

export { ReshapeFailed } from "../virt/errors.js";

/** What an error quotes of an answer of Placement. */
interface DescribedResponse {
  readonly status: number;
  describe(): string;
}

/** Base of what the report client throws; the name is OpenStack's. */
export class PlacementError extends PublicError {
  override readonly name: string = "PlacementError";
  /** The status that Placement answered, if it was an answer that made the error. */
  readonly status: number | null;

  /** @param message what was tried and what to do. @param response what Placement said, which is added to the message. */
  constructor(message: string, response?: DescribedResponse, options?: ErrorOptions) {
    super(response ? `${message}. Placement answered ${response.describe()}` : message, options);
    this.status = response?.status ?? null;
  }
}

/** Placement could not be asked; whether it acted on the request is unknown. Base of the kinds below. */
export class PlacementAPIConnectFailure extends PlacementError {
  override readonly name: string = "PlacementAPIConnectFailure";
}
/** Nothing answered: refused, reset, timed out. */
export class ConnectFailure extends PlacementAPIConnectFailure {
  override readonly name = "ConnectFailure";
}
/** The catalog has no placement service with that interface and region. */
export class EndpointNotFound extends PlacementAPIConnectFailure {
  override readonly name = "EndpointNotFound";
}
/** Identity refused the credentials, or Placement the token, twice. */
export class Unauthorized extends PlacementAPIConnectFailure {
  override readonly name = "Unauthorized";
}
/** What answers there does not speak the expected API. */
export class DiscoveryFailure extends PlacementAPIConnectFailure {
  override readonly name = "DiscoveryFailure";
}

export class ResourceProviderCreationFailed extends PlacementError {
  override readonly name = "ResourceProviderCreationFailed";
}
export class ResourceProviderNotFound extends PlacementError {
  override readonly name = "ResourceProviderNotFound";
}
export class ResourceProviderRetrievalFailed extends PlacementError {
  override readonly name = "ResourceProviderRetrievalFailed";
}
export class ResourceProviderAggregateRetrievalFailed extends PlacementError {
  override readonly name = "ResourceProviderAggregateRetrievalFailed";
}
export class ResourceProviderTraitRetrievalFailed extends PlacementError {
  override readonly name = "ResourceProviderTraitRetrievalFailed";
}
export class ResourceProviderAllocationRetrievalFailed extends PlacementError {
  override readonly name = "ResourceProviderAllocationRetrievalFailed";

  constructor(provider: string, reason: string, response?: DescribedResponse) {
    super(`Failed to retrieve allocations for resource provider ${provider}: ${reason}`, response);
  }
}
/** The provider is not in Placement: it went with its service, or an operator removed it, and a pass makes it again. */
export function isProviderMissing(error: unknown): boolean {
  return error instanceof ResourceProviderAllocationRetrievalFailed && error.status === 404;
}

/** Another client changed the provider: read it again, then try again. */
export class ResourceProviderUpdateConflict extends PlacementError {
  override readonly name = "ResourceProviderUpdateConflict";
}
export class ResourceProviderUpdateFailed extends PlacementError {
  override readonly name = "ResourceProviderUpdateFailed";
}
export class ResourceProviderInUse extends PlacementError {
  override readonly name = "ResourceProviderInUse";
}
export class ResourceProviderDeletionFailed extends PlacementError {
  override readonly name = "ResourceProviderDeletionFailed";
}
/** A part of the tree could not be written; `cause` is the first reason. Not redriven within the pass. */
export class ResourceProviderSyncFailed extends PlacementError {
  override readonly name = "ResourceProviderSyncFailed";
}
export class InventoryInUse extends PlacementError {
  override readonly name = "InventoryInUse";
}
/** An inventory that the driver left out is in use (spec 4.8). */
export class PlacementPciException extends PlacementError {
  override readonly name = "PlacementPciException";
}
export class InvalidResourceClass extends PlacementError {
  override readonly name = "InvalidResourceClass";
}
export class TraitRetrievalFailed extends PlacementError {
  override readonly name = "TraitRetrievalFailed";
}
export class TraitCreationFailed extends PlacementError {
  override readonly name = "TraitCreationFailed";
}
/** A provider or consumer changed during a reshape: redrive the pass. */
export class PlacementReshapeConflict extends PlacementError {
  override readonly name = "PlacementReshapeConflict";
}
/** The text is Nova's, as that of the three below: they become faults of instances, and operators search for them. */
export class ConsumerAllocationRetrievalFailed extends PlacementError {
  override readonly name = "ConsumerAllocationRetrievalFailed";

  constructor(consumer: string, reason: string, response?: DescribedResponse) {
    super(`Failed to retrieve allocations for consumer ${consumer}: ${reason}`, response);
  }
}
export class AllocationUpdateFailed extends PlacementError {
  override readonly name = "AllocationUpdateFailed";

  constructor(consumer: string, reason: string, response?: DescribedResponse) {
    super(`Failed to update allocations for consumer ${consumer}. Error: ${reason}`, response);
  }
}
export class AllocationMoveFailed extends PlacementError {
  override readonly name = "AllocationMoveFailed";

  constructor(source: string, target: string, reason: string, response?: DescribedResponse) {
    super(`Failed to move allocations from consumer ${source} to consumer ${target}. Error: ${reason}`, response);
  }
}
export class AllocationDeleteFailed extends PlacementError {
  override readonly name = "AllocationDeleteFailed";

  constructor(consumer: string, reason: string, response?: DescribedResponse) {
    super(`Failed to delete allocations for consumer ${consumer}. Error: ${reason}`, response);
  }
}
