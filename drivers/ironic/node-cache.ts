import type { IronicNode } from "./client/ironic-node.js";

/** A moment, before which a listing began. */
export type CacheMoment = number;

/**
 * The nodes that this host manages, as they were last seen. What an operation saw or changed while a listing was under
 * way is newer than the listing, which may have read that node before.
 */
export class NodeCache {
  /** Null: nothing was ever listed. */
  #managed: ReadonlySet<string> | null = null;
  #nodes = new Map<string, IronicNode>();
  readonly #touched = new Map<string, CacheMoment>();
  #moment: CacheMoment = 0;
  #listings = 0;

  /** Names, also of nodes that have to be read again; null: nothing was ever listed. */
  get managed(): ReadonlySet<string> | null {
    return this.#managed;
  }

  get(uuid: string): IronicNode | undefined {
    return this.#nodes.get(uuid);
  }

  /** A managed node that the instance has. */
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

  /** To be called before the first request of a listing, and {@link replace} or {@link abandon} after the last. */
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

  /** A node as it was read just now. Nodes of others are not kept. */
  see(node: IronicNode): void {
    if (!this.#managed?.has(node.uuid)) {
      return;
    }
    this.#touch(node.uuid);
    this.#nodes.set(node.uuid, node);
  }

  /** The node was changed: it has to be read again. */
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
