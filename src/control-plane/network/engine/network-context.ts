import type { Random } from "../../../runtime/cryptography.js";
import type { FairLock } from "../../../runtime/locks.js";
import type { Logger } from "../../../runtime/runtime.js";
import type { Clock } from "../../../runtime/time.js";
import type { Credentials } from "../../credentials.js";
import type { Sql } from "../../database/sql.js";
import type { Json } from "../../http/json.js";
import type { Condition } from "../../resources/condition.js";
import type { InputOf, RecordOf } from "../../resources/resource.js";
import { ResourceTable } from "../../resources/resource-table.js";
import type { AddressIndex } from "../ipam/address-index.js";
import type { NetworkOptions } from "../network-options.js";
import type { PlacementAllocations } from "../placement-allocations.js";
import type { ServerEvents } from "../server-events.js";
import type { NetworkAttributeMap, NetworkResource } from "./network-resource.js";

/** The dependencies that all requests and callers of the Network service share. */
export interface NetworkServices {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly options: NetworkOptions;
  /** Notifies Compute of changed ports. */
  readonly events: ServerEvents;
  /** Changes allocations of servers in Placement. Undefined: they remain as they are. */
  readonly placement: PlacementAllocations | undefined;
  /** Admits one change of another service at a time: each depends on the result of the former ones. */
  readonly externalChanges: FairLock;
  /** Chooses free addresses of subnets. */
  readonly freeAddresses: AddressIndex;
}

/** The caller of the service. */
export interface NetworkCaller {
  readonly projectId: string;
  readonly roles: readonly string[];
  readonly isAdmin: boolean;
  /** The service itself, or Compute in the same process: no policy applies. */
  readonly isInternal: boolean;
  readonly credentials?: Credentials;
}

const INTERNAL: NetworkCaller = { projectId: "", roles: ["admin", "service"], isAdmin: true, isInternal: true };

/** The services and the caller of one request or internal operation. */
export class NetworkContext {
  readonly services: NetworkServices;
  readonly caller: NetworkCaller;
  /** The caller's permissions that depend on no record, by rule; undefined: it depends. */
  readonly decisions = new Map<string, boolean | undefined>();
  readonly #tables: Map<NetworkResource, unknown>;

  constructor(
    services: NetworkServices,
    caller: NetworkCaller = INTERNAL,
    tables = new Map<NetworkResource, unknown>(),
  ) {
    this.services = services;
    this.caller = caller;
    this.#tables = tables;
  }

  get sql(): Sql {
    return this.services.sql;
  }

  /** Returns the same context for the service itself, which no policy restricts. */
  get internal(): NetworkContext {
    return this.caller.isInternal ? this : new NetworkContext(this.services, INTERNAL, this.#tables);
  }

  as(caller: NetworkCaller): NetworkContext {
    return new NetworkContext(this.services, caller, this.#tables);
  }

  /** Returns the stored records of a resource. */
  table<M extends NetworkAttributeMap>(resource: NetworkResource<M>): ResourceTable<M, RecordOf<M>> {
    const key = resource as unknown as NetworkResource;
    const known = this.#tables.get(key);
    if (known !== undefined) {
      return known as ResourceTable<M, RecordOf<M>>;
    }
    const table = new ResourceTable(this.sql, resource);
    this.#tables.set(key, table);
    return table;
  }

  /** Increments the revision of a record to which something was added, or from which something was removed. */
  touch(resource: NetworkResource, id: string): void {
    this.sql.execute(
      `UPDATE ${resource.table} SET revision_number = revision_number + 1, updated_at = ? WHERE id = ?`,
      this.services.clock.now(),
      id,
    );
  }
}

/** The query parameters of a list: values by their names. */
export type ListFilters = ReadonlyMap<string, readonly string[]>;

/** Values of computed attributes. Undefined ones are left out of the response. */
export type Computed = Readonly<Record<string, Json | undefined>>;

/**
 * A change of another service that goes before that of a record. Its enumerable members are the data that it depends on:
 * the update fails if they differ after the other service has changed.
 */
export interface ExternalChange {
  /** Changes the other service. If it throws, nothing has changed. */
  apply(context: NetworkContext): Promise<void>;
  /** Changes other records accordingly, in the transaction of the update. */
  complete(context: NetworkContext): void;
  /** Reverts the other service after the update has failed. Failures are logged. */
  undo(context: NetworkContext): Promise<void>;
}

/** The changes of other services that updates of a resource need. */
interface ExternalUpdate<M extends NetworkAttributeMap, R extends RecordOf<M>> {
  /** Requests without this attribute need none. */
  readonly attribute: string;
  /** Plans the change, in a transaction, for a caller who may update the record; undefined: none is needed. */
  plan(context: NetworkContext, record: R, changes: InputOf<M>): ExternalChange | undefined;
}

/**
 * The behaviour of a resource beyond its description. All functions but an external change run in the transaction of the request, after validation,
 * quota and policy. Each may throw an `HttpError`.
 */
export interface Behaviour<M extends NetworkAttributeMap = NetworkAttributeMap, R extends RecordOf<M> = RecordOf<M>> {
  /** Checks the parent before a record of it is looked up. */
  assertParent?(context: NetworkContext, parentId: string): void;
  /** Checks the records of a request that creates several before it creates the first one. */
  beforeBulkCreate?(context: NetworkContext, inputs: readonly InputOf<M>[]): void;
  /** Runs when the service starts, in a transaction: creates the records that follow from its options. */
  start?(context: NetworkContext): void;
  /** Returns the columns of a new record that differ from the input. */
  prepareCreate?(context: NetworkContext, input: InputOf<M>): Partial<R>;
  afterCreate?(context: NetworkContext, record: R, input: InputOf<M>): void;
  /** Returns the columns that an update changes. Default: those of the request. */
  prepareUpdate?(context: NetworkContext, record: R, changes: InputOf<M>): Partial<R>;
  afterUpdate?(context: NetworkContext, record: R, changes: InputOf<M>, before: R): void;
  readonly external?: ExternalUpdate<M, R>;
  /** Checks whether the record is in use, and removes what belongs to it. */
  beforeDelete?(context: NetworkContext, record: R): void;
  afterDelete?(context: NetworkContext, record: R): void;
  /**
   * Computes attributes without a column for a page of records; the results have the order of the records.
   * @param filters those of a list, for sums that depend on them
   */
  compute?(context: NetworkContext, records: readonly R[], filters?: ListFilters): readonly Computed[];
  /** Computes attributes that only the response of a show contains. */
  computeForShow?(context: NetworkContext, record: R): Computed;
  /** Computes attributes that responses to requests with them have, but others only under a condition. */
  computeRequested?(input: InputOf<M>, view: Computed): Computed;
  /** Runs before a list, in a transaction. */
  beforeList?(context: NetworkContext, filters: ListFilters): void;
  /** Conditions for filters of attributes without a column, or with other rules than equality. */
  readonly filters?: Readonly<Record<string, (context: NetworkContext, values: readonly string[]) => Condition>>;
  /** The records that the caller may see. Default: its project's own, and those that are shared with it. */
  visible?(context: NetworkContext): Condition;
  /** Whether a record that the caller may not see is hidden as by a policy, instead of unknown by its own exception. */
  readonly isForeignHidden?: boolean;
  readonly actions?: Readonly<Record<string, ResourceAction<R>>>;
}

/** Handles a member action, such as `PUT /routers/{id}/add_router_interface`; returns the response's body. */
export type ResourceAction<R> = (context: NetworkContext, record: R, body: Readonly<Record<string, unknown>>) => Json;

/** A resource with its behaviour. */
export interface RegisteredResource {
  readonly resource: NetworkResource;
  readonly behaviour: Behaviour;
}

/** Pairs a resource with its behaviour; the types of its records must fit. */
export function register<M extends NetworkResource["attributes"]>(
  resource: NetworkResource<M>,
  behaviour: Behaviour<NoInfer<M>> = {},
): RegisteredResource {
  return { resource, behaviour: behaviour as Behaviour } as unknown as RegisteredResource;
}

/** All resources of the service. */
export class Registry {
  readonly all: readonly RegisteredResource[];
  readonly #byResource: ReadonlyMap<unknown, RegisteredResource>;
  readonly #byCollection: ReadonlyMap<string, RegisteredResource>;

  constructor(all: readonly RegisteredResource[]) {
    this.all = all;
    this.#byResource = new Map(all.map((one) => [one.resource, one]));
    this.#byCollection = new Map(all.map((one) => [one.resource.collection, one]));
  }

  behaviourOf(resource: object): Behaviour {
    return this.#byResource.get(resource)?.behaviour ?? {};
  }

  /** @param collection `ports`; of several with one name, such as rules of policies, the last */
  find(collection: string): NetworkResource | undefined {
    return this.#byCollection.get(collection)?.resource;
  }
}
