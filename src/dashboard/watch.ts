import type { Inside } from "../control-plane/extension.js";
import type { TouchedRecords } from "../control-plane/placement/store/changed-rows.js";
import type { StoreChange } from "../control-plane/store/changes.js";
import type { CancelTimer } from "../runtime/timers.js";
import { Feed } from "./feed/feed.js";
import { Shown, type ShownDeps } from "./view.js";

/** Milliseconds between two looks at which hosts time alone has taken down. */
const TURNS = 1_000;
/** Milliseconds after which processes are asked about again, of whose end nobody tells; and after something was done to one. */
const AGENTS_ASKED = 5_000;
const SOON = 200;

type WatchDeps = Omit<ShownDeps, "onChange">;

/** Follows what the page shows by the state of record's own changes, between {@link begin} and {@link end}. */
export class Watch {
  readonly feed: Feed;
  readonly shown: Shown;
  readonly #inside: Inside;
  readonly #runtime: WatchDeps["runtime"];
  #ends: (() => void)[] = [];
  #cancelTurns: CancelTimer | undefined;
  #cancelAsk: CancelTimer | undefined;
  #asksSoon = false;

  constructor({ inside, runtime, ...deps }: WatchDeps) {
    this.#inside = inside;
    this.#runtime = runtime;
    this.feed = new Feed(runtime, (kind, key) => this.shown.read(kind, key));
    this.shown = new Shown({ inside, runtime, ...deps, onChange: (kind, key) => this.feed.changed(kind, key) });
  }

  begin(): void {
    const { store, placement, onGuests } = this.#inside;
    this.shown.hosts.noteAggregates();
    this.#ends = [
      store.onChange((change) => this.#changed(change)),
      placement?.onChange((touched) => this.#touched(touched)) ?? (() => undefined),
      onGuests((host) => this.shown.guests.look(host)),
    ];
    this.#turn();
    this.#askAgents(0);
    this.noteShelves();
  }

  end(): void {
    for (const end of this.#ends) {
      end();
    }
    this.#ends = [];
    this.#cancelTurns?.();
    this.#cancelAsk?.();
    this.#cancelAsk = undefined;
    this.#asksSoon = false;
    this.shown.clear();
    this.feed.clear();
  }

  /** Something was done to the host that no record tells of, such as the end of its process. */
  look(host: string): void {
    if (this.#ends.length > 0) {
      this.shown.guests.look(host);
      this.#askAgents(SOON);
    }
  }

  /** Snapshots, or what the last audit has found, may be others now. */
  noteShelves(): void {
    void this.shown.shelves.note();
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
        for (const key of this.shown.flavors.note()) {
          this.feed.changed("flavor", key);
        }
        break;
      case "aggregate":
        for (const host of this.shown.hosts.noteAggregates()) {
          this.feed.changed("host", host);
        }
        break;
      case "action": {
        const action = this.#inside.store.actions.byId(Number(id));
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
    const host = this.shown.hosts.nameOf(id);
    if (host === undefined) {
      return;
    }
    this.feed.changed("heartbeat", host);
    if (this.shown.hosts.noteHeartbeat(host)) {
      this.feed.changed("host", host);
      this.look(host);
    }
  }

  #nodeChanged(id: number): void {
    const node = this.#inside.store.computeNodes.get(id);
    if (node !== null) {
      this.feed.changed("host", node.host);
      this.feed.changed("provider", node.uuid);
      // What its agent could not reach may be there again.
      this.shown.guests.look(node.host);
    }
  }

  #serverChanged(uuid: string): void {
    const host = this.#inside.store.instances.get(uuid)?.host ?? null;
    const before = this.shown.homes.get(uuid);
    this.feed.changed("server", uuid);
    this.#ownerChanged(uuid);
    this.shown.judgeHolding(uuid);
    for (const each of new Set([host, before])) {
      if (each !== null && each !== undefined) {
        this.shown.guests.look(each);
      }
    }
    if (host === null) {
      this.shown.homes.delete(uuid);
    } else {
      this.shown.homes.set(uuid, host);
    }
  }

  #moveChanged(id: number): void {
    const migration = this.#inside.store.migrations.get(id);
    if (migration === null) {
      return;
    }
    this.feed.changed("migration", migration.uuid);
    this.#ownerChanged(migration.uuid);
    this.shown.judgeHolding(migration.instanceUuid);
    for (const host of [migration.sourceCompute, migration.destCompute]) {
      if (host !== null) {
        this.shown.guests.look(host);
      }
    }
  }

  /** A consumer's server or move may be another thing to it now. */
  #ownerChanged(uuid: string): void {
    if (this.shown.consumers?.forget(uuid)) {
      this.#consumerChanged(uuid, this.shown.consumers.providersOf(uuid));
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
    const owner = this.shown.consumers?.owner(uuid).server ?? null;
    const row = this.shown.judgeConsumer(uuid);
    this.shown.judgeHolding(uuid);
    if (row !== undefined && row.server !== null) {
      this.shown.seen.noteConsumer(row.server, row);
    } else if (row === undefined) {
      this.shown.seen.noteFreed(uuid, owner);
    }
  }

  /** Time passes: hosts fall silent. */
  #turn(): void {
    this.#cancelTurns = this.#runtime.timers.after(TURNS, () => this.#turn());
    for (const host of this.shown.hosts.turned()) {
      this.feed.changed("host", host);
    }
  }

  /** Asks about the hosts' processes so many milliseconds later, and every now and then from then on. */
  #askAgents(after: number): void {
    // What keeps happening must not put it off for ever.
    if (this.#asksSoon) {
      return;
    }
    this.#asksSoon = after <= SOON;
    this.#cancelAsk?.();
    this.#cancelAsk = this.#runtime.timers.after(after, () => void this.#noteAgents());
  }

  async #noteAgents(): Promise<void> {
    this.#asksSoon = false;
    // The parent may be about to end: what was known stays.
    const rows = await this.#inside.agents().catch(() => undefined);
    if (this.#ends.length === 0) {
      return;
    }
    for (const host of rows === undefined ? [] : this.shown.hosts.noteAgents(rows)) {
      this.feed.changed("host", host);
    }
    if (!this.#asksSoon) {
      this.#askAgents(AGENTS_ASKED);
    }
  }
}
