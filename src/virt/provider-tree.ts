import {
  type InventoryRecord,
  type ListedProvider,
  NoSuchProvider,
  type ProviderData,
  ProviderExists,
} from "./provider-data.js";

export * from "./provider-data.js";

interface Node extends ProviderData {
  readonly children: readonly string[];
}

const EMPTY_SET: ReadonlySet<string> = new Set();
const EMPTY_RECORD = Object.freeze({});

/**
 * Resource providers as trees with several roots (spec 5.1, 8.7): the hypervisor's nodes with the providers below them, and
 * sharing providers as further roots. `driver.updateProviderTree` edits one in place; the differences are then written to
 * Placement. Every method accepts a provider's name or its uuid.
 *  Copies share records until one of them changes, so a copy costs one reference per provider.
 */
export class ProviderTree {
  /**
   * Providers by uuid and by name; no name equals another provider's uuid. One map saves memory: each host has two such
   * trees.
   */
  readonly #nodes = new Map<string, Node>();

  /** Adds a provider without a parent. @throws {ProviderExists} */
  newRoot(name: string, uuid: string, generation: number | null = null): void {
    this.#insert(name, uuid, null, uuid, generation);
  }

  /**
   * Adds a provider below `parent`. Names must be unique in all of Placement: prefix them with the node's name. Generate the
   * uuid once (`context.random.uuid()`) and find the child by its name in later passes.
   * @throws {NoSuchProvider} the parent is not in the tree. {@link ProviderExists}
   */
  newChild(name: string, parent: string, uuid: string, generation: number | null = null): void {
    const above = this.#find(parent);
    this.#insert(name, uuid, above.uuid, above.rootUuid, generation);
    this.#adopt({ ...above, children: [...above.children, uuid] });
  }

  /** Removes a provider and everything below it. @throws {NoSuchProvider} */
  remove(provider: string): void {
    const gone = this.#find(provider);
    for (const uuid of this.#below(gone.uuid)) {
      const node = this.#find(uuid);
      this.#nodes.delete(uuid);
      this.#nodes.delete(node.name);
    }
    const parent = gone.parentUuid === null ? undefined : this.#nodes.get(gone.parentUuid);
    if (parent) {
      this.#adopt({ ...parent, children: parent.children.filter((uuid) => uuid !== gone.uuid) });
    }
  }

  /** Returns whether the tree has the provider, by name or uuid. */
  exists(provider: string): boolean {
    return this.#nodes.has(provider);
  }

  /** Returns the current name, uuids, inventory, traits and aggregates of a provider. @throws {NoSuchProvider} */
  data(provider: string): ProviderData {
    return this.#find(provider);
  }

  /** Returns the same as {@link data}; undefined if the provider is not in the tree. */
  find(provider: string): ProviderData | undefined {
    return this.#nodes.get(provider);
  }

  get roots(): readonly string[] {
    return [...this.#nodes]
      .filter(([key, { uuid, parentUuid }]) => key === uuid && parentUuid === null)
      .map(([uuid]) => uuid);
  }

  /**
   * Returns the uuids of the provider and all below it, or of all trees, parents before children. @throws {NoSuchProvider}
   */
  providerUuids(provider?: string): readonly string[] {
    if (provider !== undefined) {
      return this.#below(this.#find(provider).uuid);
    }
    return this.roots.flatMap((root) => this.#below(root));
  }

  /** Returns the same as {@link providerUuids}, children before parents. */
  providerUuidsBottomUp(provider?: string): readonly string[] {
    return this.providerUuids(provider).toReversed();
  }

  /** Returns the uuids of the complete tree that contains the provider, parents first. @throws {NoSuchProvider} */
  providerUuidsInTree(provider: string): readonly string[] {
    return this.#below(this.#find(provider).rootUuid);
  }

  /** Compares the set of classes, and the values that `inventory` sets; values that it omits are not compared. */
  hasInventoryChanged(provider: string, inventory: Readonly<Record<string, InventoryRecord>>): boolean {
    const known = this.#find(provider).inventory;
    if (known === inventory) {
      return false;
    }
    const classes = Object.keys(inventory);
    if (classes.length !== Object.keys(known).length) {
      return true;
    }
    return classes.some((name) => {
      const before = known[name];
      const after = inventory[name];
      return before === undefined || after === undefined || differs(before, after);
    });
  }

  haveTraitsChanged(provider: string, traits: Iterable<string>): boolean {
    return !equalSets(this.#find(provider).traits, traits);
  }

  haveAggregatesChanged(provider: string, aggregates: Iterable<string>): boolean {
    return !equalSets(this.#find(provider).aggregates, aggregates);
  }

  /**
   * Replaces the complete inventory of the provider. Omitted classes are removed from Placement, which rejects that while
   * they are in use. Omit classes with total 0. Returns true if the inventory has changed. @throws {NoSuchProvider}
   */
  updateInventory(
    provider: string,
    inventory: Readonly<Record<string, InventoryRecord>>,
    generation?: number | null,
  ): boolean {
    const changed = this.hasInventoryChanged(provider, inventory);
    this.#update(provider, { inventory: changed ? frozen(inventory) : undefined, generation });
    return changed;
  }

  /**
   * Replaces all traits; drivers use {@link addTraits} and {@link removeTraits} instead. Returns true if the traits have
   * changed.
   * @throws {NoSuchProvider}
   */
  updateTraits(provider: string, traits: Iterable<string>, generation?: number | null): boolean {
    const after = new Set(traits);
    const changed = this.haveTraitsChanged(provider, after);
    this.#update(provider, { traits: changed ? after : undefined, generation });
    return changed;
  }

  /** Adds traits. Returns true if one was missing. @throws {NoSuchProvider} */
  addTraits(provider: string, ...traits: readonly string[]): boolean {
    return this.updateTraits(provider, [...this.#find(provider).traits, ...traits]);
  }

  /** Removes traits. Returns true if one was present. @throws {NoSuchProvider} */
  removeTraits(provider: string, ...traits: readonly string[]): boolean {
    return this.updateTraits(provider, without(this.#find(provider).traits, traits));
  }

  /** Replaces all aggregates. Returns true if they have changed. @throws {NoSuchProvider} */
  updateAggregates(provider: string, aggregates: Iterable<string>, generation?: number | null): boolean {
    const after = new Set(aggregates);
    const changed = this.haveAggregatesChanged(provider, after);
    this.#update(provider, { aggregates: changed ? after : undefined, generation });
    return changed;
  }

  /** Adds aggregates. Returns true if one was missing. @throws {NoSuchProvider} */
  addAggregates(provider: string, ...aggregates: readonly string[]): boolean {
    return this.updateAggregates(provider, [...this.#find(provider).aggregates, ...aggregates]);
  }

  /** Removes aggregates. Returns true if one was present. @throws {NoSuchProvider} */
  removeAggregates(provider: string, ...aggregates: readonly string[]): boolean {
    return this.updateAggregates(provider, without(this.#find(provider).aggregates, aggregates));
  }

  /** Replaces the discrete resources of the provider. @throws {NoSuchProvider} */
  updateResources(provider: string, resources: Readonly<Record<string, readonly string[]>>): void {
    this.#update(provider, { resources: frozen(resources) });
  }

  /** Sets the generation that Placement returned. @throws {NoSuchProvider} */
  updateGeneration(provider: string, generation: number): void {
    this.#update(provider, { generation });
  }

  /**
   * Adopts Placement's listing of complete trees. Removes members that are no longer listed; the others keep their
   * inventory, aggregates, traits and resources. Providers of other trees are not changed.
   */
  populate(listed: readonly ListedProvider[]): void {
    const known = new Map<string, Node>();
    for (const { uuid } of listed) {
      const node = this.#nodes.get(uuid);
      if (!node) {
        continue;
      }
      for (const member of this.#below(node.rootUuid)) {
        known.set(member, this.#find(member));
      }
      this.remove(node.rootUuid);
    }
    for (const { uuid, name, parentUuid, generation } of parentsFirst(listed)) {
      // Placement's names are unique, so a provider of another tree with this name is outdated.
      const namesake = this.#nodes.get(name);
      if (namesake?.name === name) {
        this.remove(namesake.uuid);
      }
      if (parentUuid === null) {
        this.newRoot(name, uuid, generation);
      } else {
        this.newChild(name, parentUuid, uuid, generation);
      }
      const before = known.get(uuid);
      if (before) {
        const { inventory, traits, aggregates, resources } = before;
        this.#update(uuid, { inventory, traits, aggregates, resources });
      }
    }
  }

  /** Copies only the complete trees that contain these providers. @throws {NoSuchProvider} */
  subtree(...providers: readonly string[]): ProviderTree {
    const copy = new ProviderTree();
    for (const provider of providers) {
      const { rootUuid } = this.#find(provider);
      for (const uuid of this.#below(rootUuid)) {
        copy.#adopt(this.#find(uuid));
      }
    }
    return copy;
  }

  /** Copies all trees. */
  copy(): ProviderTree {
    const copy = new ProviderTree();
    for (const node of this.#nodes.values()) {
      copy.#adopt(node);
    }
    return copy;
  }

  #adopt(node: Node): void {
    this.#nodes.set(node.uuid, node);
    this.#nodes.set(node.name, node);
  }

  #find(provider: string): Node {
    const node = this.#nodes.get(provider);
    if (!node) {
      throw new NoSuchProvider(provider);
    }
    return node;
  }

  #below(uuid: string): string[] {
    const found = [uuid];
    for (let index = 0; index < found.length; index += 1) {
      found.push(...(this.#nodes.get(found[index] ?? "")?.children ?? []));
    }
    return found;
  }

  #insert(name: string, uuid: string, parentUuid: string | null, rootUuid: string, generation: number | null): void {
    const clash = this.find(uuid) ?? this.find(name);
    if (clash) {
      throw new ProviderExists(name, uuid, clash);
    }
    this.#adopt({
      uuid,
      name,
      parentUuid,
      rootUuid,
      generation,
      inventory: EMPTY_RECORD,
      traits: EMPTY_SET,
      aggregates: EMPTY_SET,
      resources: EMPTY_RECORD,
      children: [],
    });
  }

  #update(
    provider: string,
    changes: {
      readonly [K in "inventory" | "traits" | "aggregates" | "resources" | "generation"]?: Node[K] | undefined;
    },
  ): void {
    const node = this.#find(provider);
    if (Object.values(changes).some((value) => value !== undefined)) {
      const {
        inventory = node.inventory,
        traits = node.traits,
        aggregates = node.aggregates,
        resources = node.resources,
        generation = node.generation,
      } = changes;
      this.#adopt({ ...node, inventory, traits, aggregates, resources, generation });
    }
  }
}

const frozen = <T extends object>(values: T): T => Object.freeze({ ...values });

function differs(before: InventoryRecord, after: InventoryRecord): boolean {
  return (
    before !== after && (Object.keys(after) as (keyof InventoryRecord)[]).some((key) => before[key] !== after[key])
  );
}

function without(from: ReadonlySet<string>, some: readonly string[]): string[] {
  return [...from].filter((member) => !some.includes(member));
}

function equalSets(known: ReadonlySet<string>, candidate: Iterable<string>): boolean {
  const members = candidate instanceof Set ? candidate : new Set(candidate);
  if (members === known) {
    return true;
  }
  if (members.size !== known.size) {
    return false;
  }
  for (const member of members) {
    if (!known.has(member)) {
      return false;
    }
  }
  return true;
}

function parentsFirst(listed: readonly ListedProvider[]): ListedProvider[] {
  const children = new Map<string | null, ListedProvider[]>();
  for (const provider of listed) {
    const siblings = children.get(provider.parentUuid);
    if (siblings) {
      siblings.push(provider);
    } else {
      children.set(provider.parentUuid, [provider]);
    }
  }
  const ordered = [...(children.get(null) ?? [])];
  for (let index = 0; index < ordered.length; index += 1) {
    ordered.push(...(children.get(ordered[index]?.uuid ?? "") ?? []));
  }
  return ordered;
}
