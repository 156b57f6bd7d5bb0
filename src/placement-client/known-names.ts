/** The custom resource classes and the traits that a Placement was seen to know; for all its clients of a process. */
export class KnownNames {
  readonly classes = new Set<string>();
  readonly traits = new Set<string>();

  /** They are asked for again. */
  clear(): void {
    this.classes.clear();
    this.traits.clear();
  }
}
