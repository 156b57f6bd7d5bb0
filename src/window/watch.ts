import type { Inside } from "../cluster/extension.js";
import type { TouchedRecords } from "../cluster/placement/store/changed-rows.js";
import type { StoreChange } from "../cluster/store/changes.js";
import type { Runtime } from "../runtime/runtime.js";
import type { CancelTimer } from "../runtime/timers.js";
import { Feed } from "./feed/feed.js";
import { SeenStates } from "./life/seen-states.js";
import { latestAction } from "./life/server-life.js";
import { Consumers } from "./rows/consumers.js";
import { Findings } from "./rows/findings.js";
import { Flavors } from "./rows/flavors.js";
import { Guests, type HostFolders } from "./rows/guests.js";
import { Hosts } from "./rows/hosts.js";
import { Moves } from "./rows/moves.js";
import { Providers } from "./rows/providers.js";
import { serverRow } from "./rows/server-row.js";
import type { Kind, RequestRow, Rows, WindowRow } from "./wire.js";

/** Milliseconds between two looks at which hosts time alone has taken down. */
const TURNS = 1_000;
/** Milliseconds after which processes are asked about again, of whose end nobody tells; and after something was done to one. */
const AGENTS_ASKED = 5_000;
const SOON = 200;
/** Milliseconds that an agent may take to say what it has. */
const PATIENCE = 5_000;
/** Servers that are read at a time. */
const PAGE = 50;

export interface WatchDeps {
  readonly inside: Inside;
  readonly runtime: Pick<Runtime, "clock" | "timers" | "random" | "logger">;
  readonly folders: HostFolders;
  /** A request of this id that is kept. */
  readonly request: (id: string) => RequestRow | undefined;
}

/** Follows what the page shows by the state of record's own changes, between {@link begin} and {@link end}. */
export class Watch {
  readonly feed: Feed;
  readonly flavors: Flavors;
  readonly seen: SeenStates;
  /** Undefined, and so the next: Placement is elsewhere. */
  readonly consumers: Consumers | undefined;
  readonly #providers: Providers | undefined;
  readonly #deps: WatchDeps;
  readonly #hosts: Hosts;
  readonly #moves: Moves;
  readonly #guests: Guests;
  readonly #findings: Findings;
  /** Where servers were when they changed last: what leaves a host is looked for there, too. */
  readonly #homes = new Map<string, string>();
  #ends: (() => void)[] = [];
  #cancelTurns: CancelTimer | undefined;
  #cancelAsk: CancelTimer | undefined;

  constructor(deps: WatchDeps) {
    const { inside, runtime, folders } = deps;
    const { store, placement, bus } = inside;
    const { clock, timers, random } = runtime;
    this.#deps = deps;
    this.feed = new Feed({ clock, timers }, (kind, key) => this.#read(kind, key));
    this.flavors = new Flavors(store);
    this.#moves = new Moves(store, this.flavors);
    this.seen = new SeenStates(clock);
    this.#findings = new Findings(store, (key) => this.feed.changed("finding", key));
    this.#guests = new Guests({
      folders,
      clock,
      timers,
      ask: (host) =>
        bus.serves(host)
          ? bus.call(host, "list_guests", {}, { timeout: PATIENCE, requestId: `req-${random.uuid()}` })
          : undefined,
      onRead: (host) => {
        this.feed.changed("guests", host);
        this.#findings.judgeHost(host, this.#guests.read(host));
      },
      onFaults: (host) => this.feed.changed("host", host),
    });
    const faults = (host: string) => this.#guests.faults(host);
    this.#hosts = new Hosts({ store, clock, downTime: inside.downTime, faults });
    if (placement !== undefined) {
      this.consumers = new Consumers(store, placement);
      this.#providers = new Providers(placement, this.consumers, {
        hostOf: (uuid) => store.computeNodes.hostOf(uuid),
        onTraits: (key) => this.feed.changed("traits", key),
      });
    }
  }

  begin(): void {
    const { store, placement } = this.#deps.inside;
    this.#hosts.noteAggregates();
    this.#ends = [
      store.onChange((change) => this.#changed(change)),
      placement?.onChange((touched) => this.#touched(touched)) ?? (() => undefined),
    ];
    this.#turn();
    this.#askAgents(0);
  }

  end(): void {
    for (const end of this.#ends) {
      end();
    }
    this.#ends = [];
    this.#cancelTurns?.();
    this.#cancelAsk?.();
    this.#cancelAsk = undefined;
    this.#homes.clear();
    for (const known of [this.#hosts, this.#guests, this.#findings, this.seen, this.flavors, this.feed]) {
      known.clear();
    }
    this.consumers?.clear();
    this.#providers?.clear();
  }

  /** Something was done to the host that no record tells of, such as the end of its process. */
  look(host: string): void {
    if (this.#ends.length > 0) {
      this.#guests.look(host);
      this.#askAgents(SOON);
    }
  }

  /** Every row there is, read as they are asked for. */
  *rows(): Generator<WindowRow> {
    const { store, placement } = this.#deps.inside;
    for (const [key, value] of this.flavors.all()) {
      yield { kind: "flavor", key, value };
    }
    for (const [row, seen] of this.#hosts.all()) {
      yield { kind: "host", key: row.host, value: row };
      yield { kind: "heartbeat", key: row.host, value: seen };
      if (this.#guests.read(row.host) === undefined) {
        this.#guests.look(row.host);
      }
    }
    for (let after = 0; ; ) {
      const page = store.instances.page({ after, limit: PAGE });
      for (const instance of page) {
        if (instance.host !== null) {
          this.#homes.set(instance.uuid, instance.host);
        }
        yield { kind: "server", key: instance.uuid, value: serverRow(instance, store) };
      }
      const last = page.at(-1);
      if (last === undefined) {
        break;
      }
      after = last.id;
    }
    for (const row of this.#moves.all()) {
      yield { kind: "migration", key: row.uuid, value: row };
    }
    for (const uuid of placement?.providers.keys() ?? []) {
      yield* this.#row("provider", uuid);
    }
    for (const [key, value] of this.#providers?.allTraits ?? []) {
      yield { kind: "traits", key, value };
    }
    for (const uuid of placement?.consumers.keys() ?? []) {
      this.#judgeConsumer(uuid);
      yield* this.#row("consumer", uuid);
    }
    for (const [key, value] of this.#guests.all) {
      yield { kind: "guests", key, value };
    }
    for (const [key, value] of this.#findings.all) {
      yield { kind: "finding", key, value };
    }
  }

  *#row(kind: Kind, key: string): Generator<WindowRow> {
    const value = this.#read(kind, key);
    if (value !== undefined) {
      yield { kind, key, value } as WindowRow;
    }
  }

  #read(kind: Kind, key: string): Rows[Kind] | undefined {
    const { store } = this.#deps.inside;
    switch (kind) {
      case "host":
        return this.#hosts.read(key);
      case "heartbeat":
        return this.#hosts.heartbeat(key);
      case "server":
        return this.#readServer(key);
      case "migration":
        return this.#moves.read(key);
      case "provider":
        return this.#providers?.read(key);
      case "traits":
        return this.#providers?.traits(key);
      case "consumer":
        return this.consumers?.read(key);
      case "guests":
        return this.#guests.read(key);
      case "finding":
        return this.#findings.read(key);
      case "action":
        return latestAction(store, key);
      case "flavor":
        return this.flavors.read(key);
      case "request":
        return this.#deps.request(key);
      case "snapshot":
      case "scenario":
        return undefined;
    }
  }

  #readServer(uuid: string): Rows["server"] | undefined {
    const { store } = this.#deps.inside;
    const instance = store.instances.get(uuid);
    const row = instance === null ? undefined : serverRow(instance, store);
    if (row !== undefined) {
      this.seen.noteServer(row);
    }
    return row;
  }

  #changed({ kind, id }: StoreChange): void {
    switch (kind) {
      case "service":
        this.#serviceChanged(Number(id));
        break;
      case "compute_node":
        this.#nodeChanged(Number(id));
        break;
      case "instance":
        this.#serverChanged(String(id));
        break;
      case "migration":
        this.#moveChanged(Number(id));
        break;
      case "flavor":
        for (const key of this.flavors.note()) {
          this.feed.changed("flavor", key);
        }
        break;
      case "aggregate":
        for (const host of this.#hosts.noteAggregates()) {
          this.feed.changed("host", host);
        }
        break;
      case "action": {
        const action = this.#deps.inside.store.actions.byId(Number(id));
        if (action !== null) {
          this.feed.changed("action", action.instanceUuid);
        }
        break;
      }
      case "message":
      case "task":
        break;
    }
  }

  #serviceChanged(id: number): void {
    const host = this.#hosts.nameOf(id);
    if (host === undefined) {
      return;
    }
    this.feed.changed("heartbeat", host);
    if (this.#hosts.noteHeartbeat(host)) {
      this.feed.changed("host", host);
      this.look(host);
    }
  }

  #nodeChanged(id: number): void {
    const node = this.#deps.inside.store.computeNodes.get(id);
    if (node !== null) {
      this.feed.changed("host", node.host);
      this.feed.changed("provider", node.uuid);
    }
  }

  #serverChanged(uuid: string): void {
    const host = this.#deps.inside.store.instances.get(uuid)?.host ?? null;
    const before = this.#homes.get(uuid);
    this.feed.changed("server", uuid);
    this.#ownerChanged(uuid);
    for (const each of new Set([host, before])) {
      if (each !== null && each !== undefined) {
        this.#guests.look(each);
      }
    }
    if (host === null) {
      this.#homes.delete(uuid);
    } else {
      this.#homes.set(uuid, host);
    }
  }

  #moveChanged(id: number): void {
    const migration = this.#deps.inside.store.migrations.get(id);
    if (migration === null) {
      return;
    }
    this.feed.changed("migration", migration.uuid);
    this.#ownerChanged(migration.uuid);
    for (const host of [migration.sourceCompute, migration.destCompute]) {
      if (host !== null) {
        this.#guests.look(host);
      }
    }
  }

  /** A consumer's server or move may be another thing to it now. */
  #ownerChanged(uuid: string): void {
    if (this.consumers?.forget(uuid)) {
      this.#consumerChanged(uuid, this.consumers.providersOf(uuid));
    }
  }

  #touched({ providers, consumers }: TouchedRecords): void {
    for (const { uuid } of providers) {
      this.feed.changed("provider", uuid);
    }
    for (const { uuid, allocations } of consumers) {
      this.#consumerChanged(
        uuid,
        allocations.map(({ inventory }) => inventory.provider.uuid),
      );
    }
  }

  #consumerChanged(uuid: string, providers: readonly string[]): void {
    this.feed.changed("consumer", uuid);
    for (const provider of providers) {
      this.feed.changed("provider", provider);
    }
    const owner = this.consumers?.owner(uuid).server ?? null;
    const row = this.#judgeConsumer(uuid);
    if (row !== undefined && row.server !== null) {
      this.seen.noteConsumer(row.server, row);
    } else if (row === undefined) {
      this.seen.noteFreed(uuid, owner);
    }
  }

  #judgeConsumer(uuid: string): Rows["consumer"] | undefined {
    const row = this.consumers?.read(uuid);
    this.#findings.judgeConsumer(uuid, row);
    return row;
  }

  /** Time passes: hosts fall silent. */
  #turn(): void {
    this.#cancelTurns = this.#deps.runtime.timers.after(TURNS, () => this.#turn());
    for (const host of this.#hosts.turned()) {
      this.feed.changed("host", host);
    }
  }

  /** Asks about the hosts' processes so many milliseconds later, and every now and then from then on. */
  #askAgents(after: number): void {
    this.#cancelAsk?.();
    this.#cancelAsk = this.#deps.runtime.timers.after(after, () => void this.#noteAgents());
  }

  async #noteAgents(): Promise<void> {
    const { inside } = this.#deps;
    // The parent may be about to end: what was known stays.
    const rows = await inside.hosts(null).catch(() => []);
    if (this.#ends.length === 0) {
      return;
    }
    for (const host of this.#hosts.noteAgents(rows)) {
      this.feed.changed("host", host);
    }
    this.#askAgents(AGENTS_ASKED);
  }
}
