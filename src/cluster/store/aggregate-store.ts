/** A group of hosts, which its metadata says something about. */
export interface Aggregate {
  readonly id: number;
  /** The uuid of its mirror among Placement's aggregates, too. */
  readonly uuid: string;
  readonly name: string;
  /** In the order in which they were added. */
  readonly hosts: readonly string[];
  /** `availability_zone` is one of the keys. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number | null;
}

/**
 * Host aggregates. The availability zone of each nova-compute service (`Service.availabilityZone`) follows from them, in
 * the same transaction.
 */
export interface AggregateStore {
  get(id: number): Aggregate | null;
  /** By id. */
  list(): Aggregate[];
  /** The aggregates that the host is in, by id. */
  byHost(host: string): Aggregate[];
  /** @throws AggregateNameExists */
  create(aggregate: Pick<Aggregate, "name" | "metadata">): Aggregate;
  /** The keys of `metadata` are added or changed, those with null removed. @throws AggregateNotFound, AggregateNameExists */
  update(id: number, changes: AggregateChanges): Aggregate;
  /** @throws AggregateNotFound, AggregateHostExists */
  addHost(id: number, host: string): Aggregate;
  /** @throws AggregateNotFound, AggregateHostNotFound */
  removeHost(id: number, host: string): Aggregate;
  /** @throws AggregateNotFound */
  destroy(id: number): void;
}

export interface AggregateChanges {
  readonly name?: string;
  readonly metadata?: Readonly<Record<string, string | null>>;
}
