import { ComputeResourcesUnavailable } from "../../../virt/errors.js";

/**
 * For an instance that would come to this host.
 * @throws {ComputeResourcesUnavailable} it needs what this host does not have
 */
export function assertServable({ unservable }: { readonly unservable?: string | undefined }): void {
  if (unservable !== undefined) {
    throw new ComputeResourcesUnavailable(`Insufficient compute resources: ${unservable}.`);
  }
}
