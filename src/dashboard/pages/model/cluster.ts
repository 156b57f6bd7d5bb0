import { batch, type Signal, signal } from "@preact/signals";
import type { DashboardHello, DashboardMessage, Kind, Rows } from "../../wire/messages.js";
import type { FindingRow, GuestRow, ProviderRow, RequestRow, ServerRow } from "../../wire/rows.js";

/** Rows by key. A reader of one row, one group or all rows is notified of changes to exactly that. */
export class Table<V> {
  readonly #rows = new Map<string, V>();
  readonly #watched = new Map<string, Signal<V | undefined>>();
  readonly #version = signal(0);
  readonly #groups: Groups<V>[] = [];
  /** Rows from before a reset that have not been sent again. */
  #doubtful = new Set<string>();

  /** Returns all rows; the reader is notified of each change. */
  get rows(): ReadonlyMap<string, V> {
    this.#version.value;
    return this.#rows;
  }

  get(key: string): V | undefined {
    let watched = this.#watched.get(key);
    if (watched === undefined) {
      watched = signal(this.#rows.get(key));
      this.#watched.set(key, watched);
    }
    return watched.value;
  }

  /** Groups rows by the keys that `of` returns. */
  groupBy(of: (value: V, key: string) => readonly string[]): Groups<V> {
    const groups = new Groups(of, this.#rows);
    this.#groups.push(groups);
    return groups;
  }

  set(key: string, value: V): void {
    const before = this.#rows.get(key);
    this.#doubtful.delete(key);
    this.#rows.set(key, value);
    this.#changed(key, before, value);
  }

  delete(key: string): void {
    const before = this.#rows.get(key);
    if (before === undefined) {
      return;
    }
    this.#doubtful.delete(key);
    this.#rows.delete(key);
    this.#changed(key, before, undefined);
  }

  /**
   * Marks all rows before a snapshot. Those that it does not contain are removed by {@link settle}, and remain
   * displayed until then.
   */
  doubt(): void {
    this.#doubtful = new Set(this.#rows.keys());
  }

  settle(): void {
    for (const key of this.#doubtful) {
      this.delete(key);
    }
  }

  #changed(key: string, before: V | undefined, after: V | undefined): void {
    const watched = this.#watched.get(key);
    if (watched !== undefined) {
      watched.value = after;
    }
    for (const groups of this.#groups) {
      groups.move(key, before, after);
    }
    this.#version.value++;
  }
}

class Groups<V> {
  readonly #of: (value: V, key: string) => readonly string[];
  readonly #rows: ReadonlyMap<string, V>;
  readonly #keys = new Map<string, Set<string>>();
  readonly #versions = new Map<string, Signal<number>>();

  constructor(of: (value: V, key: string) => readonly string[], rows: ReadonlyMap<string, V>) {
    this.#of = of;
    this.#rows = rows;
  }

  /** Returns the rows of one group in order of arrival; the reader is notified of each change of the group. */
  get(group: string): V[] {
    let version = this.#versions.get(group);
    if (version === undefined) {
      version = signal(0);
      this.#versions.set(group, version);
    }
    version.value;
    return this.read(group);
  }

  /** Returns the rows of one group, for lists of many groups. Does not subscribe the reader to changes. */
  read(group: string): V[] {
    const keys = this.#keys.get(group) ?? new Set<string>();
    return [...keys].map((key) => this.#rows.get(key)).filter((row) => row !== undefined);
  }

  /** Returns the size of a group, for lists of many groups. Does not subscribe the reader to changes. */
  count(group: string): number {
    return this.#keys.get(group)?.size ?? 0;
  }

  move(key: string, before: V | undefined, after: V | undefined): void {
    const from = before === undefined ? [] : this.#of(before, key);
    const to = after === undefined ? [] : this.#of(after, key);
    for (const group of from) {
      if (!to.includes(group)) {
        this.#keys.get(group)?.delete(key);
        if (this.#keys.get(group)?.size === 0) {
          this.#keys.delete(group);
        }
      }
    }
    for (const group of to) {
      const keys = this.#keys.get(group) ?? new Set<string>();
      keys.add(key);
      this.#keys.set(group, keys);
    }
    for (const group of new Set([...from, ...to])) {
      const version = this.#versions.get(group);
      if (version !== undefined) {
        version.value++;
      }
    }
  }
}

/** Maximum number of requests that the page retains. */
const MAX_REQUESTS = 2_000;

const listed = (value: string | null): readonly string[] => (value === null ? [] : [value]);

/** The page's copy of the cluster's data. */
export class Cluster {
  readonly hello = signal<DashboardHello | null>(null);
  /** The first snapshot is complete. */
  readonly ready = signal(false);

  readonly tables: { readonly [K in Exclude<Kind, "request">]: Table<Rows[K]> } = {
    host: new Table(),
    heartbeat: new Table(),
    server: new Table(),
    migration: new Table(),
    provider: new Table(),
    traits: new Table(),
    consumer: new Table(),
    network: new Table(),
    router: new Table(),
    port: new Table(),
    guests: new Table(),
    finding: new Table(),
    action: new Table(),
    flavor: new Table(),
    edit: new Table(),
    snapshot: new Table(),
    scenario: new Table(),
  };
  /** The resource classes of all inventories so far. */
  readonly resourceClasses = signal<ReadonlySet<string>>(new Set());
  /** Newest first. */
  readonly requests = signal<readonly RequestRow[]>([]);

  readonly serversOfHost = this.tables.server.groupBy(({ host }) => listed(host));
  readonly migrationsOfServer = this.tables.migration.groupBy(({ server }) => [server]);
  readonly consumersOfServer = this.tables.consumer.groupBy(({ server }) => listed(server));
  readonly consumersOfProvider = this.tables.consumer.groupBy(({ held }) => Object.keys(held));
  readonly portsOfServer = this.tables.port.groupBy(({ server }) => listed(server));
  readonly portsOfNetwork = this.tables.port.groupBy(({ network }) => [network]);
  readonly providersOfRoot = this.tables.provider.groupBy(({ root }) => [root]);
  readonly providersOfHost = this.tables.provider.groupBy(({ host }) => listed(host));
  readonly findingsOfHost = this.tables.finding.groupBy(({ host }) => listed(host));
  readonly findingsOfServer = this.tables.finding.groupBy(({ server }) => listed(server));
  readonly findingsOfConsumer = this.tables.finding.groupBy(({ consumer }) => listed(consumer));
  readonly findingsOfProvider = this.tables.finding.groupBy(({ provider }) => listed(provider));

  greet(hello: DashboardHello): void {
    this.hello.value = hello;
    if (hello.reset) {
      for (const table of Object.values(this.tables)) {
        table.doubt();
      }
    }
  }

  settle(): void {
    batch(() => {
      for (const table of Object.values(this.tables)) {
        table.settle();
      }
      this.ready.value = true;
    });
  }

  /** Applies all messages before notifying readers, so that many changes cause one rendering. */
  apply(messages: readonly DashboardMessage[]): void {
    batch(() => {
      const requests: RequestRow[] = [];
      for (const { set, gone } of messages) {
        for (const row of set) {
          if (row.kind === "request") {
            requests.push(row.value);
          } else {
            this.#set(row.kind, row.key, row.value);
          }
        }
        for (const { kind, key } of gone) {
          if (kind !== "request") {
            this.tables[kind]?.delete(key);
          }
        }
      }
      this.#add(requests);
    });
  }

  /** Ignores kinds that only a newer server knows. */
  #set(kind: Exclude<Kind, "request">, key: string, value: unknown): void {
    (this.tables[kind] as Table<unknown> | undefined)?.set(key, value);
    if (kind === "provider") {
      this.#noteClasses(value as ProviderRow);
    }
  }

  /** Keeps the set unless there is another class, so that lists of providers need not collect them at each change. */
  #noteClasses({ inventory }: ProviderRow): void {
    const known = this.resourceClasses.peek();
    const added = Object.keys(inventory).filter((name) => !known.has(name));
    if (added.length > 0) {
      this.resourceClasses.value = new Set([...known, ...added]);
    }
  }

  #add(requests: readonly RequestRow[]): void {
    if (requests.length > 0) {
      const known = new Map(this.requests.value.map((request) => [request.id, request]));
      for (const request of requests) {
        known.set(request.id, request);
      }
      this.requests.value = [...known.values()].sort((a, b) => b.at - a.at).slice(0, MAX_REQUESTS);
    }
  }
}

/** Milliseconds per frame for applying changes; the rest remains for drawing and input. */
const FRAME_BUDGET_MS = 8;

interface FrameDeps {
  /** Calls back once, before the next frame is drawn. */
  readonly nextFrame: (call: () => void) => void;
  /** Milliseconds of a monotonic clock. */
  readonly clock: () => number;
}

type ClusterUpdate = (cluster: Cluster) => void;

/** Queues the server's messages and applies them once per frame, in order. */
export class Feed {
  readonly #cluster: Cluster;
  readonly #deps: FrameDeps;
  #queue: (DashboardMessage | ClusterUpdate)[] = [];
  #isScheduled = false;

  constructor(cluster: Cluster, deps: FrameDeps) {
    this.#cluster = cluster;
    this.#deps = deps;
  }

  hello(hello: DashboardHello): void {
    this.#add((cluster) => cluster.greet(hello));
  }

  message(message: DashboardMessage): void {
    this.#add(message);
  }

  ready(): void {
    this.#add((cluster) => cluster.settle());
  }

  #add(entry: DashboardMessage | ClusterUpdate): void {
    this.#queue.push(entry);
    this.#ask();
  }

  #ask(): void {
    if (!this.#isScheduled && this.#queue.length > 0) {
      this.#isScheduled = true;
      this.#deps.nextFrame(() => {
        this.#isScheduled = false;
        this.#pass();
        this.#ask();
      });
    }
  }

  #pass(): void {
    const until = this.#deps.clock() + FRAME_BUDGET_MS;
    let taken = 0;
    while (taken < this.#queue.length && (taken === 0 || this.#deps.clock() < until)) {
      taken = this.#passRun(taken);
    }
    this.#queue = this.#queue.slice(taken);
  }

  /** Applies the queue entry at this index: a run of messages, or one update. Returns the index after it. */
  #passRun(at: number): number {
    const first = this.#queue[at];
    if (typeof first === "function") {
      first(this.#cluster);
      return at + 1;
    }
    const run: DashboardMessage[] = [];
    let rows = 0;
    for (let next = at; next < this.#queue.length && rows < 500; next++) {
      const entry = this.#queue[next];
      if (entry === undefined || typeof entry === "function") {
        break;
      }
      run.push(entry);
      rows += entry.set.length + entry.gone.length;
    }
    this.#cluster.apply(run);
    return at + run.length;
  }
}

/** A server as Compute records it, with its guest as the hypervisor reports it. */
export interface Pair {
  readonly uuid: string;
  readonly name: string;
  readonly server: ServerRow | null;
  readonly guest: GuestRow | null;
  /** Findings about a mismatch between the two. */
  readonly wrong: readonly FindingRow[];
}

/** Pairs a host's servers with its guests; mismatches come first. */
export function pairsOf(
  servers: readonly ServerRow[],
  guests: readonly GuestRow[],
  findings: readonly FindingRow[],
): readonly Pair[] {
  const byUuid = new Map<string, { server: ServerRow | null; guest: GuestRow | null }>();
  for (const server of servers) {
    byUuid.set(server.uuid, { server, guest: null });
  }
  for (const guest of guests) {
    byUuid.set(guest.uuid, { server: byUuid.get(guest.uuid)?.server ?? null, guest });
  }
  const pairs = [...byUuid].map(([uuid, { server, guest }]) => ({
    uuid,
    name: server?.name ?? guest?.name ?? uuid,
    server,
    guest,
    wrong: findings.filter((finding) => finding.server === uuid),
  }));
  return pairs.sort((a, b) => b.wrong.length - a.wrong.length || a.name.localeCompare(b.name, "en", { numeric: true }));
}

/** Returns the host's findings that no pair displays: allocations, providers, the host itself. */
export function othersOf(findings: readonly FindingRow[], pairs: readonly Pair[]): readonly FindingRow[] {
  const pairFindings = new Set(pairs.flatMap(({ wrong }) => wrong));
  return findings.filter((finding) => !pairFindings.has(finding));
}
