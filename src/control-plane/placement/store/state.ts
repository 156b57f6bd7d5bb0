import { ResourceClassNotFound, TraitNotFound } from "../model/errors.js";
import type {
  Aggregate,
  Consumer,
  ConsumerType,
  Project,
  Provider,
  ResourceClass,
  Trait,
  User,
} from "../model/records.js";

/** Providers with this trait share their inventory with the trees that have an aggregate in common with them. */
const SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE";

/** Everything that Placement knows, resident in memory and indexed; what is read comes from here alone. */
export class State {
  readonly classes = new Map<string, ResourceClass>();
  readonly traits = new Map<string, Trait>();
  /** By UUID. */
  readonly providers = new Map<string, Provider>();
  readonly providersByName = new Map<string, Provider>();
  /** By UUID. */
  readonly aggregates = new Map<string, Aggregate>();
  readonly projects = new Map<string, Project>();
  readonly users = new Map<string, User>();
  readonly consumerTypes = new Map<string, ConsumerType>();
  /** By UUID. */
  readonly consumers = new Map<string, Consumer>();
  /** Providers that have a parent. */
  nested = 0;

  readonly #ids = new Map<string, number>();

  /** The next id of a table. */
  nextId(table: string, floor = 1): number {
    const id = Math.max((this.#ids.get(table) ?? 0) + 1, floor);
    this.#ids.set(table, id);
    return id;
  }

  /** Notes an id in use, so that {@link nextId} goes on above it. */
  reserveId(table: string, id: number): void {
    if (id > (this.#ids.get(table) ?? 0)) {
      this.#ids.set(table, id);
    }
  }

  /** @throws {ResourceClassNotFound} */
  resourceClass(name: string): ResourceClass {
    const found = this.classes.get(name);
    if (found === undefined) {
      throw new ResourceClassNotFound(name);
    }
    return found;
  }

  /** @throws {TraitNotFound} */
  trait(name: string): Trait {
    const found = this.traits.get(name);
    if (found === undefined) {
      throw new TraitNotFound(name);
    }
    return found;
  }

  /** The providers that share their inventories. */
  sharing(): ReadonlySet<Provider> {
    return this.traits.get(SHARING_TRAIT)?.providers ?? new Set();
  }
}

/** A provider and everything below it. */
export function subtree(provider: Provider): Provider[] {
  const found = [provider];
  for (const each of found) {
    found.push(...each.children);
  }
  return found;
}
