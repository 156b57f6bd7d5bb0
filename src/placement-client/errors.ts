import { PublicError } from "../runtime/error-messages.js";

export { ReshapeFailed } from "../virt/errors.js";

/** The part of a Placement response that errors quote. */
interface DescribedResponse {
  readonly status: number;
  describe(): string;
}

/** The base of the report client's errors, with OpenStack's name. */
export class PlacementError extends PublicError {
  override readonly name: string = "PlacementError";
  /** The status of Placement's response; null if there was none. */
  readonly status: number | null;

  /**
   * @param message the failed operation and what to do.
   * @param response Placement's response, which is appended to the message.
   */
  constructor(message: string, response?: DescribedResponse, options?: ErrorOptions) {
    super(response ? `${message}. Placement responded with ${response.describe()}` : message, options);
    this.status = response?.status ?? null;
  }
}

/**
 * Placement could not be reached; it is unknown whether it acted on the request. The base of the four classes below.
 */
export class PlacementAPIConnectFailure extends PlacementError {
  override readonly name: string = "PlacementAPIConnectFailure";
}
/** There was no response: connection refused, reset or timed out. */
export class ConnectFailure extends PlacementAPIConnectFailure {
  override readonly name = "ConnectFailure";
}
/** The catalog has no placement endpoint with that interface and region. */
export class EndpointNotFound extends PlacementAPIConnectFailure {
  override readonly name = "EndpointNotFound";
}
/** Identity rejected the credentials, or Placement rejected two tokens in a row. */
export class Unauthorized extends PlacementAPIConnectFailure {
  override readonly name = "Unauthorized";
}
/** The server does not implement the expected API. */
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
/**
 * Returns whether the provider does not exist in Placement: it was deleted with its service or by an operator. The next
 * tracker pass creates it again.
 */
export function isProviderMissing(error: unknown): boolean {
  return error instanceof ResourceProviderAllocationRetrievalFailed && error.status === 404;
}

/** Another client changed the provider; read it again and retry. */
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
/** A part of the tree could not be written; `cause` is the first error. Not redriven within the pass. */
export class ResourceProviderSyncFailed extends PlacementError {
  override readonly name = "ResourceProviderSyncFailed";
}
export class InventoryInUse extends PlacementError {
  override readonly name = "InventoryInUse";
}
/** An inventory that the driver no longer reports is in use (spec 4.8). */
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
/** A provider or consumer changed during a reshape; redrive the pass. */
export class PlacementReshapeConflict extends PlacementError {
  override readonly name = "PlacementReshapeConflict";
}
/**
 * The messages of this class and the next three are Nova's: they become instance faults, and operators search for them.
 */
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
