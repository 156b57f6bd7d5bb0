import { EqualValues } from "../runtime/collections.js";
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
 * Resource providers as trees under several roots (spec 5.1, 8.7): a node of the hypervisor and what is below it, and
 * sharing providers as further roots. `driver.updateProviderTree` gets one and edits it in place; what differs afterwards
 * is written to Placement. Wherever a provider is asked for, its name and its uuid are both good.
 *
 * Copies share their records until one of them changes, so a copy costs a reference a provider.
 */
export class ProviderTree {
  /** By uuid, and by name: no name is another provider's uuid. One map, since each host of a process keeps two of these trees. */
  readonly #nodes = new Map<string, Node>();

  /** @throws {ProviderExists} */
  newRoot(name: string, uuid: string, generation: number | null = null): void {
    this.#insert(name, uuid, null, uuid, generation);
  }

  /**
   * Adds a provider below `parent`. Names must be unique in all of Placement: prefix them with the node's. Make the uuid
   * once (`context.random.uuid()`) and find the child by its name in later passes.
   * @throws {NoSuchProvider} the parent is not here. {@link ProviderExists}
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

  /** By name or uuid, as in all of these. */
  exists(provider: string): boolean {
    return this.#nodes.has(provider);
  }

  /** Name, uuids, inventory, traits and aggregates, as they are now. @throws {NoSuchProvider} */
  data(provider: string): ProviderData {
    return this.#find(provider);
  }

  /** As {@link data}; undefined when it is not here. */
  find(provider: string): ProviderData | undefined {
    return this.#nodes.get(provider);
  }

  get roots(): readonly string[] {
    return [...this.#nodes]
      .filter(([key, { uuid, parentUuid }]) => key === uuid && parentUuid === null)
      .map(([uuid]) => uuid);
  }

  /** Uuids of the provider and all below it, or of all trees, parents before their children. @throws {NoSuchProvider} */
  providerUuids(provider?: string): readonly string[] {
    if (provider !== undefined) {
      return this.#below(this.#find(provider).uuid);
    }
    return this.roots.flatMap((root) => this.#below(root));
  }

  /** As {@link providerUuids}, children before their parents. */
  providerUuidsBottomUp(provider?: string): readonly string[] {
    return this.providerUuids(provider).toReversed();
  }

  /** Uuids of the whole tree that holds the provider, parents first. @throws {NoSuchProvider} */
  providerUuidsInTree(provider: string): readonly string[] {
    return this.#below(this.#find(provider).rootUuid);
  }

  /** Whether the set of classes differs, or a value that `inventory` gives; values that it leaves out are not compared. */
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
   * Replaces all inventory of the provider: classes left out are removed from Placement, which it refuses while they are
   * in use. Leave out classes with total 0. True when it differs from what was there. @throws {NoSuchProvider}
   */
  updateInventory(
    provider: string,
    inventory: Readonly<Record<string, InventoryRecord>>,
    generation?: number | null,
  ): boolean {
    const changed = this.hasInventoryChanged(provider, inventory);
    this.#update(provider, { inventory: changed ? INVENTORIES.shared(frozen(inventory)) : undefined, generation });
    return changed;
  }

  /** Replaces all traits; drivers add and remove their own instead. True when they differ. @throws {NoSuchProvider} */
  updateTraits(provider: string, traits: Iterable<string>, generation?: number | null): boolean {
    const after = shared(new Set(traits));
    const changed = this.haveTraitsChanged(provider, after);
    this.#update(provider, { traits: changed ? after : undefined, generation });
    return changed;
  }

  /** True when one was missing. @throws {NoSuchProvider} */
  addTraits(provider: string, ...traits: readonly string[]): boolean {
    return this.updateTraits(provider, [...this.#find(provider).traits, ...traits]);
  }

  /** True when one was there. @throws {NoSuchProvider} */
  removeTraits(provider: string, ...traits: readonly string[]): boolean {
    return this.updateTraits(provider, without(this.#find(provider).traits, traits));
  }

  /** Replaces all aggregates. True when they differ. @throws {NoSuchProvider} */
  updateAggregates(provider: string, aggregates: Iterable<string>, generation?: number | null): boolean {
    const after = new Set(aggregates);
    const changed = this.haveAggregatesChanged(provider, after);
    this.#update(provider, { aggregates: changed ? after : undefined, generation });
    return changed;
  }

  /** True when one was missing. @throws {NoSuchProvider} */
  addAggregates(provider: string, ...aggregates: readonly string[]): boolean {
    return this.updateAggregates(provider, [...this.#find(provider).aggregates, ...aggregates]);
  }

  /** True when one was there. @throws {NoSuchProvider} */
  removeAggregates(provider: string, ...aggregates: readonly string[]): boolean {
    return this.updateAggregates(provider, without(this.#find(provider).aggregates, aggregates));
  }

  /** Replaces the discrete resources of the provider. @throws {NoSuchProvider} */
  updateResources(provider: string, resources: Readonly<Record<string, readonly string[]>>): void {
    this.#update(provider, { resources: frozen(resources) });
  }

  /** Notes the generation that Placement answered. @throws {NoSuchProvider} */
  updateGeneration(provider: string, generation: number): void {
    this.#update(provider, { generation });
  }

  /**
   * Takes over what Placement lists of whole trees: members that are no longer listed go, those that are keep their
   * inventory, aggregates, traits and resources. Providers of other trees are left alone.
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
      // A name that a provider outside of these trees had is this one's now: Placement never has it twice.
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

  /** A copy of the whole trees that hold these providers, and of nothing else. @throws {NoSuchProvider} */
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

  /** A copy of all trees. */
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

/** The sets of traits that were met last: providers of a process mostly have equal ones, and thousands of them. */
const MET: ReadonlySet<string>[] = [];
const MAX_SHARED_SETS = 16;

/** One that is equal, if there was one of late. */
function shared(traits: ReadonlySet<string>): ReadonlySet<string> {
  const known = MET.find((each) => equalSets(each, traits));
  if (known !== undefined) {
    return known;
  }
  MET.unshift(traits);
  MET.length = Math.min(MET.length, MAX_SHARED_SETS);
  return traits;
}

/** Keeps the inventories that were met last, as {@link MET} does the sets of traits. */
const INVENTORIES = new EqualValues<ProviderData["inventory"]>();

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
