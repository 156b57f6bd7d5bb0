import type { AllocationsByProvider } from "../../../records/index.js";
import type { OperationServices } from "../contract.js";

/** What the instance holds in Placement: as the message says it, or else as Placement does. */
export async function heldAllocations(
  { context }: OperationServices,
  request: {
    readonly instanceUuid: string;
    readonly allocations: AllocationsByProvider | null;
    readonly requestId: string;
  },
): Promise<AllocationsByProvider> {
  const { instanceUuid, allocations, requestId } = request;
  return allocations ?? (await context.placement.getAllocationsForConsumer(instanceUuid, { requestId })).allocations;
}
