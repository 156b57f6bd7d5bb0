import type { IronicNode } from "./client/ironic-node.js";

/** A logical time at which a listing began. */
export type CacheMoment = number;

/**
 * The latest known states of the nodes that this host manages. A state that an operation read or changed during a
 * listing is newer than the listing's.
 */
export class NodeCache {
  /** Null before the first listing. */
  #managed: ReadonlySet<string> | null = null;
  #nodes = new Map<string, IronicNode>();
  readonly #touched = new Map<string, CacheMoment>();
  #moment: CacheMoment = 0;
  #listings = 0;

  /** Names of the managed nodes, including those that must be read again; null before the first listing. */
  get managed(): ReadonlySet<string> | null {
    return this.#managed;
  }

  get(uuid: string): IronicNode | undefined {
    return this.#nodes.get(uuid);
  }

  /** Returns the managed node that the instance has. */
  withInstance(instance: string): IronicNode | undefined {
    for (const node of this.#nodes.values()) {
      if (node.instanceUuid === instance) {
        return node;
      }
    }
    return undefined;
  }

  instances(): readonly string[] {
    return [...this.#nodes.values()].flatMap(({ instanceUuid }) => (instanceUuid === null ? [] : [instanceUuid]));
  }

  /** Starts a listing. Call it before the first request, and {@link replace} or {@link abandon} after the last. */
  begin(): CacheMoment {
    this.#listings += 1;
    return this.#moment;
  }

  abandon(): void {
    this.#listings -= 1;
    if (this.#listings === 0) {
      this.#touched.clear();
    }
  }

  replace(began: CacheMoment, nodes: readonly IronicNode[]): void {
    const next = new Map<string, IronicNode>();
    for (const node of nodes) {
      const newer = (this.#touched.get(node.uuid) ?? -1) >= began;
      const known = newer ? this.#nodes.get(node.uuid) : node;
      if (known) {
        next.set(node.uuid, known);
      }
    }
    this.#nodes = next;
    this.#managed = new Set(nodes.map(({ uuid }) => uuid));
    this.abandon();
  }

  /** Stores a node that was just read. Ignores nodes of other hosts. */
  see(node: IronicNode): void {
    if (!this.#managed?.has(node.uuid)) {
      return;
    }
    this.#touch(node.uuid);
    this.#nodes.set(node.uuid, node);
  }

  /** Drops a changed node, so that it is read again. */
  forget(uuid: string): void {
    this.#touch(uuid);
    this.#nodes.delete(uuid);
  }

  #touch(uuid: string): void {
    if (this.#listings > 0) {
      this.#touched.set(uuid, this.#moment);
    }
    this.#moment += 1;
  }
}
