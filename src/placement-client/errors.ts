import { PublicError } from "../runtime/error-messages.js";

export { ReshapeFailed } from "../virt/errors.js";

/** The part of a Placement response that errors quote. */
interface DescribedResponse {
  readonly status: number;
  describe(): string;
}

/** The reasons why Placement could not be reached; it is unknown whether it acted on the request. */
const CONNECT_FAILURES = [
  /** There was no response: connection refused, reset or timed out. */
  "ConnectFailure",
  /** The catalog has no placement endpoint with that interface and region. */
  "EndpointNotFound",
  /** Identity rejected the credentials, or Placement rejected two tokens in a row. */
  "Unauthorized",
  /** The server does not implement the expected API. */
  "DiscoveryFailure",
] as const;

/**
 * The beginnings of Nova's messages, which become instance faults; operators search for them. Placeholder: the consumer or
 * provider.
 */
const ALLOCATION_MESSAGES = {
  ResourceProviderAllocationRetrievalFailed: "Failed to retrieve allocations for resource provider %s:",
  ConsumerAllocationRetrievalFailed: "Failed to retrieve allocations for consumer %s:",
  AllocationUpdateFailed: "Failed to update allocations for consumer %s. Error:",
  AllocationMoveFailed: "Failed to move allocations from consumer %s. Error:",
  AllocationDeleteFailed: "Failed to delete allocations for consumer %s. Error:",
} as const;

export type PlacementErrorCode =
  | (typeof CONNECT_FAILURES)[number]
  | keyof typeof ALLOCATION_MESSAGES
  | "ResourceProviderCreationFailed"
  | "ResourceProviderNotFound"
  | "ResourceProviderRetrievalFailed"
  | "ResourceProviderAggregateRetrievalFailed"
  | "ResourceProviderTraitRetrievalFailed"
  /** Another client changed the provider; read it again and retry. */
  | "ResourceProviderUpdateConflict"
  | "ResourceProviderUpdateFailed"
  | "ResourceProviderInUse"
  | "ResourceProviderDeletionFailed"
  /** A part of the tree could not be written; `cause` is the first error. Not redriven within the pass. */
  | "ResourceProviderSyncFailed"
  | "InventoryInUse"
  /** An inventory that the driver no longer reports is in use (spec 4.8). */
  | "PlacementPciException"
  | "InvalidResourceClass"
  | "TraitRetrievalFailed"
  | "TraitCreationFailed"
  /** A provider or consumer changed during a reshape; redrive the pass. */
  | "PlacementReshapeConflict";

/** An error of the report client. */
export class PlacementError extends PublicError {
  /** OpenStack's name of the error. */
  readonly code: PlacementErrorCode;
  override readonly name: PlacementErrorCode;
  /** The status of Placement's response; null if there was none. */
  readonly status: number | null;

  /**
   * @param message the failed operation and what to do.
   * @param response Placement's response, which is appended to the message.
   */
  constructor(code: PlacementErrorCode, message: string, response?: DescribedResponse, options?: ErrorOptions) {
    super(response ? `${message}. Placement responded with ${response.describe()}` : message, options);
    this.code = code;
    this.name = code;
    this.status = response?.status ?? null;
  }
}

/** Returns whether the error has one of these codes; PlacementAPIConnectFailure stands for {@link CONNECT_FAILURES}. */
export function isPlacementError(
  error: unknown,
  ...codes: readonly (PlacementErrorCode | "PlacementAPIConnectFailure")[]
): error is PlacementError {
  return (
    error instanceof PlacementError &&
    (codes.includes(error.code) ||
      (codes.includes("PlacementAPIConnectFailure") && CONNECT_FAILURES.some((code) => code === error.code)))
  );
}

/**
 * Creates an error with Nova's message.
 * @param subject the consumer or provider; for a move, `SOURCE to consumer DESTINATION`
 */
export function createAllocationError(
  code: keyof typeof ALLOCATION_MESSAGES,
  subject: string,
  reason: string,
  response?: DescribedResponse,
): PlacementError {
  return new PlacementError(code, `${ALLOCATION_MESSAGES[code].replace("%s", () => subject)} ${reason}`, response);
}

/**
 * Returns whether the provider does not exist in Placement: it was deleted with its service or by an operator. The next
 * tracker pass creates it again.
 */
export function isProviderMissing(error: unknown): boolean {
  return isPlacementError(error, "ResourceProviderAllocationRetrievalFailed") && error.status === 404;
}
