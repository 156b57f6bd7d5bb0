/** Live migrations that were made ready on this host as the destination, and have neither come nor been taken back. */
export class IncomingMigrations {
  readonly #open = new Map<number, { readonly ended: Promise<void>; readonly end: () => void }>();

  get size(): number {
    return this.#open.size;
  }

  begin(migrationId: number): void {
    if (this.#open.has(migrationId)) return;
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#open.set(migrationId, { ended, end });
  }

  end(migrationId: number): void {
    this.#open.get(migrationId)?.end();
    this.#open.delete(migrationId);
  }

  /** Resolves at once for one that is not under way. */
  async ends(migrationId: number): Promise<void> {
    await this.#open.get(migrationId)?.ended;
  }
}
