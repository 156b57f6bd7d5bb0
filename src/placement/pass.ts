/** What one listing of Placement showed at the beginning of a tracker pass; see `ReportClient.beginPass`. */
export interface PlacementPass {
  /**
   * Nothing of the tree of this root can have changed since it was last read, but what raises no generation: allocations
   * that were dropped, and aggregates written below 1.19. False for a root that is not cached.
   */
  unchanged(root: string): boolean;
}
