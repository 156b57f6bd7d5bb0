import type { Allocations } from "../../placement-client/types.js";

/** Changes the allocations of consumers in Placement. */
export interface PlacementAllocations {
  /**
   * Replaces the allocations of a consumer unless it is written meanwhile; it is then read again.
   * @param edit is called before each write with the current allocations; returns null to write nothing
   * @throws {PlacementError}
   */
  readonly editAllocations: (consumer: string, edit: (allocations: Allocations) => Allocations | null) => Promise<void>;
}
